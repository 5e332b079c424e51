-- MySQL 8.0.16 or MariaDB 10.5, or later: CHECK must be enforced.
--
-- What a client chose is compared byte by byte, trailing spaces too: VARBINARY
-- is the one type that does so on both servers, whatever their collations.
--
-- A CREATE commits by itself here, so a migration that was cut off has left some
-- tables behind: it must be able to run again.

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS sales (
    item          VARBINARY(64) NOT NULL PRIMARY KEY,
    title         VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    price_cents   BIGINT        NOT NULL CHECK (price_cents >= 0),
    num           BIGINT        NOT NULL CHECK (num >= 0), -- units left; moved by guarded deltas only
    starts_at     BIGINT        NOT NULL,                  -- times are Unix milliseconds
    ends_at       BIGINT        NOT NULL,
    per_user      BIGINT        NOT NULL CHECK (per_user > 0),
    mode          VARBINARY(16) NOT NULL,
    paused        BOOLEAN       NOT NULL DEFAULT FALSE,
    preheat       BOOLEAN       NOT NULL DEFAULT FALSE,    -- by command: seeded before its time
    demo          BOOLEAN       NOT NULL DEFAULT FALSE,    -- made anew at every start of the zero-setup gateway
    epoch         BIGINT        NOT NULL,                  -- only ever rises
    reseed_until  BIGINT        NOT NULL DEFAULT 0,        -- a seeder holds the lease until then
    db_epoch      BIGINT        NOT NULL DEFAULT 0,        -- the last epoch in which the DB path sold
    last_order_at BIGINT        NOT NULL DEFAULT 0,        -- of the last order that took units or gave them back
    created_at    BIGINT        NOT NULL,
    CHECK (ends_at > starts_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS orders (
    id           BIGINT         NOT NULL PRIMARY KEY,
    item         VARBINARY(64)  NOT NULL,
    user_id      VARBINARY(128) NOT NULL,
    biz_id       VARBINARY(128) NOT NULL,
    qty          BIGINT         NOT NULL CHECK (qty > 0),
    amount_cents BIGINT         NOT NULL,
    state        VARBINARY(16)  NOT NULL,
    code         VARBINARY(32)  NOT NULL DEFAULT '',       -- of a recorded refusal
    path         VARBINARY(16)  NOT NULL,                  -- how it was admitted
    epoch        BIGINT         NOT NULL,                  -- of the sale when it was placed
    created_at   BIGINT         NOT NULL,
    pay_by       BIGINT         NOT NULL DEFAULT 0,
    changed_at   BIGINT         NOT NULL,
    UNIQUE KEY orders_key (user_id, biz_id),
    KEY orders_item_state (item, state),
    KEY orders_unpaid (state, pay_by)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS user_quota (
    item    VARBINARY(64)  NOT NULL,
    user_id VARBINARY(128) NOT NULL,
    bought  BIGINT         NOT NULL CHECK (bought >= 0),   -- units of this user's active orders
    PRIMARY KEY (item, user_id)
) ENGINE = InnoDB;

-- Append-only. The sum of a sale's deltas is its num. An order takes its units
-- once and gives them back at most once: the unique key holds that, and lets in
-- any number of moves that are no order's, since NULL equals nothing.
CREATE TABLE IF NOT EXISTS stock_journal (
    id       BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
    item     VARBINARY(64) NOT NULL,
    delta    BIGINT        NOT NULL,
    kind     VARBINARY(16) NOT NULL,                       -- initial, added, removed, sold, returned
    order_id BIGINT,                                       -- of sold and returned
    at       BIGINT        NOT NULL,
    UNIQUE KEY stock_journal_once (order_id, kind),
    KEY stock_journal_item (item)
) ENGINE = InnoDB;

-- What the shop is to hear of, in the transaction that made it true.
CREATE TABLE IF NOT EXISTS outbox (
    id       BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_id BIGINT        NOT NULL,
    event    VARBINARY(16) NOT NULL,                       -- created, paid, cancelled, expired
    at       BIGINT        NOT NULL
) ENGINE = InnoDB;

-- Worker ids of order numbers. A row is free once leased_until is past, and
-- leased_until is never before the last number made under it.
CREATE TABLE IF NOT EXISTS worker_ids (
    id           BIGINT         NOT NULL PRIMARY KEY,
    owner        VARBINARY(128) NOT NULL,
    leased_until BIGINT         NOT NULL
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE IF EXISTS worker_ids;
DROP TABLE IF EXISTS outbox;
DROP TABLE IF EXISTS stock_journal;
DROP TABLE IF EXISTS user_quota;
DROP TABLE IF EXISTS orders;
DROP TABLE IF EXISTS sales;
