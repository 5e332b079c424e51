// Package store keeps sales and orders in SQL: hand-written statements behind
// one small dialect. It decides nothing: every write is a guarded statement, and
// what to write is package order's.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"rushgate/backend/order"
)

//go:embed migrations
var migrations embed.FS

// Options say where the database is.
type Options struct {
	Driver string           // "sqlite"
	DSN    string           // sqlite: a file
	Now    func() time.Time // the clock of an embedded database; nil for time.Now
}

// Store is a connected database with the newest schema. Safe for concurrent use.
type Store struct {
	d     dialect
	write *sql.DB
	read  *sql.DB
	now   func() time.Time
	fresh func(context.Context) (*sql.DB, error) // a pool of its own, for a look that must not trust old connections
}

// dialect is what differs between the engines.
type dialect struct {
	name    goose.Dialect
	folder  string                                         // of its migrations
	open    func(dsn string, writer bool) (*sql.DB, error) //
	isGuard func(error) bool                               // a constraint said no
	isBusy  func(error) bool                               // rolled back; the same transaction may pass later
}

// Open connects, creates what is missing and migrates the schema.
func Open(ctx context.Context, opt Options) (*Store, error) {
	if opt.Driver != "sqlite" {
		return nil, fmt.Errorf("sql driver %q is not known; use sqlite", opt.Driver)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Store{d: sqliteDialect, now: opt.Now}
	var err error
	if s.write, err = s.d.open(opt.DSN, true); err != nil {
		return nil, err
	}
	if err = s.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", opt.DSN, err), s.write.Close())
	}
	if s.read, err = s.d.open(opt.DSN, false); err != nil {
		return nil, errors.Join(err, s.write.Close())
	}
	s.fresh = func(context.Context) (*sql.DB, error) { return s.d.open(opt.DSN, false) }
	return s, nil
}

// Close closes all connections.
func (s *Store) Close() error { return errors.Join(s.write.Close(), s.read.Close()) }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.read.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

// NowMS is the database's clock in Unix milliseconds: that of this process for
// an embedded database.
func (s *Store) NowMS() int64 { return s.now().UnixMilli() }

func (s *Store) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations/"+s.d.folder)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(s.d.name, s.write, files)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// inTx runs f in one writing transaction. Its errors are those of order.Store.
func (s *Store) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.classify(err)
	}
	// It does nothing after a commit. Deferred, so that a panic in f, which a
	// server survives, does not keep the one writing connection for ever.
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return s.classify(err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("gave up before the commit: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", order.ErrCommit, err)
	}
	return nil
}

// classify adds the reason that decides what to do next.
func (s *Store) classify(err error) error {
	switch {
	case s.d.isGuard(err):
		return fmt.Errorf("%w: %w", order.ErrGuard, err)
	case s.d.isBusy(err):
		return fmt.Errorf("%w: %w", order.ErrBusy, err)
	}
	return err
}

// rows reports the number of rows that a statement changed.
func rows(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// exactly turns another number of rows than want into order.ErrGuard.
func exactly(want int64, res sql.Result, err error) error {
	n, err := rows(res, err)
	if err == nil && n != want {
		err = order.ErrGuard
	}
	return err
}
