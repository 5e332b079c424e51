-- +goose Up
CREATE TABLE sales (
    item          TEXT    NOT NULL PRIMARY KEY,
    title         TEXT    NOT NULL,
    price_cents   INTEGER NOT NULL CHECK (price_cents >= 0),
    num           INTEGER NOT NULL CHECK (num >= 0), -- units left; moved by guarded deltas only
    starts_at     INTEGER NOT NULL,                  -- times are Unix milliseconds
    ends_at       INTEGER NOT NULL CHECK (ends_at > starts_at),
    per_user      INTEGER NOT NULL CHECK (per_user > 0),
    mode          TEXT    NOT NULL,
    paused        INTEGER NOT NULL DEFAULT 0,
    preheat       INTEGER NOT NULL DEFAULT 0,        -- by command: seeded before its time
    demo          INTEGER NOT NULL DEFAULT 0,        -- made anew at every start of the zero-setup gateway
    epoch         INTEGER NOT NULL,                  -- only ever rises
    reseed_until  INTEGER NOT NULL DEFAULT 0,        -- a seeder holds the lease until then
    db_epoch      INTEGER NOT NULL DEFAULT 0,        -- the last epoch in which the DB path sold
    last_order_at INTEGER NOT NULL DEFAULT 0,        -- of the last order that took units or gave them back
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE orders (
    id           INTEGER NOT NULL PRIMARY KEY,
    item         TEXT    NOT NULL,
    user_id      TEXT    NOT NULL,
    biz_id       TEXT    NOT NULL,
    qty          INTEGER NOT NULL CHECK (qty > 0),
    amount_cents INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    code         TEXT    NOT NULL DEFAULT '',        -- of a recorded refusal
    path         TEXT    NOT NULL,                   -- how it was admitted
    epoch        INTEGER NOT NULL,                   -- of the sale when it was placed
    created_at   INTEGER NOT NULL,
    pay_by       INTEGER NOT NULL DEFAULT 0,
    changed_at   INTEGER NOT NULL,
    UNIQUE (user_id, biz_id)
) STRICT;
CREATE INDEX orders_item_state ON orders (item, state);
CREATE INDEX orders_unpaid ON orders (pay_by) WHERE state = 'created';

CREATE TABLE user_quota (
    item    TEXT    NOT NULL,
    user_id TEXT    NOT NULL,
    bought  INTEGER NOT NULL CHECK (bought >= 0),    -- units of this user's active orders
    PRIMARY KEY (item, user_id)
) STRICT, WITHOUT ROWID;

-- Append-only. The sum of a sale's deltas is its num. An order takes its units
-- once and gives them back at most once: the index holds that.
CREATE TABLE stock_journal (
    id       INTEGER PRIMARY KEY,
    item     TEXT    NOT NULL,
    delta    INTEGER NOT NULL,
    kind     TEXT    NOT NULL,                       -- initial, added, removed, sold, returned
    order_id INTEGER,                                -- of sold and returned
    at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX stock_journal_once ON stock_journal (order_id, kind) WHERE order_id IS NOT NULL;
CREATE INDEX stock_journal_item ON stock_journal (item);

-- What the shop is to hear of, in the transaction that made it true.
CREATE TABLE outbox (
    id       INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL,
    event    TEXT    NOT NULL,                       -- created, paid, cancelled, expired
    at       INTEGER NOT NULL
) STRICT;

-- Worker ids of order numbers. A row is free once leased_until is past, and
-- leased_until is never before the last number made under it.
CREATE TABLE worker_ids (
    id           INTEGER NOT NULL PRIMARY KEY,
    owner        TEXT    NOT NULL,
    leased_until INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE worker_ids;
DROP TABLE outbox;
DROP TABLE stock_journal;
DROP TABLE user_quota;
DROP TABLE orders;
DROP TABLE sales;
