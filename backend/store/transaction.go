package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"rushgate/backend/order"
)

// inTx runs f in one writing transaction. Its errors are those of order.Store.
//
// Servers run it under READ COMMITTED: what f reads only plans, and each write is
// guarded by a condition that the engine judges on the newest row, under its lock.
// A stricter level would hold locks on gaps between keys (MySQL), or fail
// transactions that no guard objects to (PostgreSQL).
func (s *Store) inTx(ctx context.Context, f func(session) error) error {
	ctx, cancel := context.WithTimeout(ctx, txTime)
	defer cancel()
	conn, tx, err := s.begin(ctx)
	if err != nil {
		return s.classify(err)
	}
	// Deferred, so that a panic in f, which a server survives, does not keep the
	// connection for ever. Rolling back does nothing after a commit. It is ours to
	// do after any error: a lock wait that timed out, for one, undoes only its
	// statement on MySQL.
	defer func() { end(conn, tx) }()
	if err := f(session{tx, s.d, writeTime}); err != nil {
		return s.classify(err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("gave up before the commit: %w", err)
	}
	return s.commit(tx)
}

// beginTries is how many connections are tried for one that lives.
const beginTries = 3

// begin opens a transaction on a connection of its own. One that was found dead
// before anything was sent over it is replaced, as database/sql does in DB.BeginTx.
func (s *Store) begin(ctx context.Context) (conn *sql.Conn, tx *sql.Tx, err error) {
	for range beginTries {
		if conn, err = s.write.Conn(ctx); err != nil {
			return nil, nil, err
		}
		if tx, err = conn.BeginTx(ctx, nil); err == nil {
			return conn, tx, nil
		}
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) {
			break
		}
	}
	return nil, nil, err
}

// commit sends the commit once. Its answer is yes, or that the transaction was
// rolled back, or it is lost: a broken connection proves neither, and a second
// commit on another would find nothing to commit.
func (s *Store) commit(tx *sql.Tx) error {
	err := tx.Commit()
	switch {
	case err == nil:
		return nil
	case s.d.isRolledBack(err):
		return s.classify(fmt.Errorf("rolled back instead of committed: %w", err))
	}
	return fmt.Errorf("%w: %w", order.ErrCommit, err)
}

// end rolls back what was not committed and gives the connection back. A
// connection that could not be rolled back is thrown away: on MySQL the START
// TRANSACTION of its next user would commit what it holds.
func end(conn *sql.Conn, tx *sql.Tx) {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = conn.Close()
}

// snapshot runs f on one state of the database, with others writing on. REPEATABLE
// READ is what the servers call that; an embedded database has nothing else.
func (s *Store) snapshot(ctx context.Context, f func(session) error) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it only read
	return f(session{tx, s.d, readTime})
}

// classify adds the reason that decides what to do next. A deadline of the
// caller's is no reason to try again.
func (s *Store) classify(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case s.d.isGuard(err):
		return fmt.Errorf("%w: %w", order.ErrGuard, err)
	case s.d.isBusy(err):
		return fmt.Errorf("%w: %w", order.ErrBusy, err)
	}
	return err
}
