-- What a client chose is compared byte by byte and sorted by the same rule:
-- COLLATE "C".

-- +goose Up
CREATE TABLE sales (
    item          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    title         TEXT    NOT NULL,
    price_cents   BIGINT  NOT NULL CHECK (price_cents >= 0),
    num           BIGINT  NOT NULL CHECK (num >= 0), -- units left; moved by guarded deltas only
    starts_at     BIGINT  NOT NULL,                  -- times are Unix milliseconds
    ends_at       BIGINT  NOT NULL CHECK (ends_at > starts_at),
    per_user      BIGINT  NOT NULL CHECK (per_user > 0),
    mode          TEXT    NOT NULL,
    paused        BOOLEAN NOT NULL DEFAULT FALSE,
    preheat       BOOLEAN NOT NULL DEFAULT FALSE,    -- by command: seeded before its time
    demo          BOOLEAN NOT NULL DEFAULT FALSE,    -- made anew at every start of the zero-setup gateway
    epoch         BIGINT  NOT NULL,                  -- only ever rises
    reseed_until  BIGINT  NOT NULL DEFAULT 0,        -- a seeder holds the lease until then
    db_epoch      BIGINT  NOT NULL DEFAULT 0,        -- the last epoch in which the DB path sold
    last_order_at BIGINT  NOT NULL DEFAULT 0,        -- of the last order that took units or gave them back
    created_at    BIGINT  NOT NULL
);

CREATE TABLE orders (
    id           BIGINT NOT NULL PRIMARY KEY,
    item         TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    biz_id       TEXT COLLATE "C" NOT NULL,
    qty          BIGINT NOT NULL CHECK (qty > 0),
    amount_cents BIGINT NOT NULL,
    state        TEXT   NOT NULL,
    code         TEXT   NOT NULL DEFAULT '',         -- of a recorded refusal
    path         TEXT   NOT NULL,                    -- how it was admitted
    epoch        BIGINT NOT NULL,                    -- of the sale when it was placed
    created_at   BIGINT NOT NULL,
    pay_by       BIGINT NOT NULL DEFAULT 0,
    changed_at   BIGINT NOT NULL,
    UNIQUE (user_id, biz_id)
);
CREATE INDEX orders_item_state ON orders (item, state);
CREATE INDEX orders_unpaid ON orders (pay_by) WHERE state = 'created';

CREATE TABLE user_quota (
    item    TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    bought  BIGINT NOT NULL CHECK (bought >= 0),     -- units of this user's active orders
    PRIMARY KEY (item, user_id)
);

-- Append-only. The sum of a sale's deltas is its num. An order takes its units
-- once and gives them back at most once: the index holds that.
CREATE TABLE stock_journal (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item     TEXT COLLATE "C" NOT NULL,
    delta    BIGINT NOT NULL,
    kind     TEXT   NOT NULL,                        -- initial, added, removed, sold, returned
    order_id BIGINT,                                 -- of sold and returned
    at       BIGINT NOT NULL
);
CREATE UNIQUE INDEX stock_journal_once ON stock_journal (order_id, kind) WHERE order_id IS NOT NULL;
CREATE INDEX stock_journal_item ON stock_journal (item);

-- What the shop is to hear of, in the transaction that made it true.
CREATE TABLE outbox (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id BIGINT NOT NULL,
    event    TEXT   NOT NULL,                        -- created, paid, cancelled, expired
    at       BIGINT NOT NULL
);

-- Worker ids of order numbers. A row is free once leased_until is past, and
-- leased_until is never before the last number made under it.
CREATE TABLE worker_ids (
    id           BIGINT NOT NULL PRIMARY KEY,
    owner        TEXT   NOT NULL,
    leased_until BIGINT NOT NULL
);

-- +goose Down
DROP TABLE worker_ids;
DROP TABLE outbox;
DROP TABLE stock_journal;
DROP TABLE user_quota;
DROP TABLE orders;
DROP TABLE sales;
