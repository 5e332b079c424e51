package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"time"

	"rushgate/backend/order"
)

// This file is what the database servers have in common.

// connectTime bounds the setting-up of a connection, where the data source name
// says nothing else.
const connectTime = 3 * time.Second

// idleTxTime is how long a server keeps a transaction that waits for its client: a
// process that was stopped would hold the rows of a sale for ever.
const idleTxTime = 10 * time.Second

// connLife is how old a connection gets. After a failover, or when a server was
// added behind a name, the pool has moved there within this time; and it is less
// than the five minutes after which firewalls and proxies drop a quiet connection
// without a word.
const connLife = 4 * time.Minute

// bounded limits a pool to conns. All of them stay open: dialling is dearer than
// keeping, and happens at the worst moment, when a rush begins.
func bounded(db *sql.DB, conns int) *sql.DB {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(connLife)
	return db
}

// isConnection says that the way to the server broke, or could not be made.
// Unless a commit was under way, the server rolls back what was begun.
func isConnection(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// rowsInBrackets is how servers write rows of values that are looked for.
func rowsInBrackets(n int, placeholders string) string { return "(" + tuples(n, placeholders) + ")" }

// upsertQuota holds the limit per user in one statement: a row that would pass it
// is not updated, which shows in the count.
func upsertQuota(ctx context.Context, q session, item string, perUser int64, takes []order.Take) error {
	args := make([]any, 0, 3*len(takes)+1)
	for _, t := range takes {
		args = append(args, item, t.User, t.Qty)
	}
	args = append(args, perUser)
	return q.exactly(ctx, int64(len(takes)), "INSERT INTO user_quota (item, user_id, bought) VALUES "+tuples(len(takes), "(?,?,?)")+
		" ON CONFLICT (item, user_id) DO UPDATE SET bought = user_quota.bought + excluded.bought WHERE user_quota.bought + excluded.bought <= ?", args...)
}
