// Package store keeps sales and orders in SQL: hand-written statements behind
// one small dialect. It decides nothing: every write is a guarded statement, and
// what to write is package order's.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"rushgate/backend/order"
	"rushgate/backend/reseed"
)

// Options say where the database is.
type Options struct {
	Driver string           // "sqlite", "mysql" (MariaDB too) or "postgres"
	DSN    string           // sqlite: a file; else the driver's own form
	Conns  int              // connections to a server at most, two or more; 0 for 16; unused with sqlite
	Now    func() time.Time // the clock of an embedded database and of order numbers; nil for time.Now
}

// defaultConns is plenty: one sale's purchases share a transaction, and more
// connections on one hot row make it slower.
const defaultConns = 16

// Store is a connected database with the newest schema. Safe for concurrent use.
type Store struct {
	d     *dialect
	db    *database
	write *sql.DB
	read  *sql.DB
	now   func() time.Time
}

// Open connects, creates what is missing and migrates the schema. An error names
// the database without its password.
func Open(ctx context.Context, opt Options) (*Store, error) {
	connect, ok := engines[opt.Driver]
	if !ok {
		return nil, fmt.Errorf("sql driver %q is not known; use sqlite, mysql or postgres", opt.Driver)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Conns == 0 {
		opt.Conns = defaultConns
	}
	if opt.Conns < 2 && opt.Driver != "sqlite" {
		return nil, fmt.Errorf("%d connections to the database: allow 2 or more, one to write and one to read", opt.Conns)
	}
	db, err := connect(opt.DSN)
	if err != nil {
		return nil, err
	}
	s := &Store{d: db.dialect, db: db, now: opt.Now}
	if err := s.migrate(ctx); err != nil {
		return nil, fmt.Errorf("database %s: %w", db.at, err)
	}
	writers, readers := split(opt.Conns)
	if s.write, err = db.pool(writer, writers); err != nil {
		return nil, err
	}
	if s.read, err = db.pool(reader, readers); err != nil {
		return nil, errors.Join(err, s.write.Close())
	}
	return s, nil
}

// split shares connections out. Most of what comes is orders; what reads is
// catalogues, seeders and look-ups.
func split(conns int) (writers, readers int) {
	readers = max(1, conns/4)
	return conns - readers, readers
}

// Close closes all connections.
func (s *Store) Close() error { return errors.Join(s.write.Close(), s.read.Close()) }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.reading().one(ctx, "SELECT 1", nil, &one)
}

// Now is the database's clock in Unix milliseconds: that of this process for an
// embedded database.
func (s *Store) Now(ctx context.Context) (ms int64, err error) {
	err = s.reading().one(ctx, "SELECT "+s.clock(), nil, &ms)
	return ms, err
}

// clock is the database's clock as an expression in SQL, in Unix milliseconds. It
// is written into the statement that needs it: what was read before would be old
// by a round trip, or by a wait for a lock.
func (s *Store) clock() string { return s.d.clock(s.now) }

// reading is where statements go that only read.
func (s *Store) reading() session { return session{s.read, s.d, readTime} }

// The store serves these.
var (
	_ order.Store     = (*Store)(nil)
	_ order.LifeStore = (*Store)(nil)
	_ reseed.SQL      = (*Store)(nil)
	_ reseed.Auditor  = (*Store)(nil)
)
