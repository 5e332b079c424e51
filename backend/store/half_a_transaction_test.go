package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"rushgate/backend/order"
)

// server is a database server that answers as a test says.
type server struct {
	dials               int
	begin               []error // of the transactions to come, in order; afterwards none fails
	exec, commit, abort error
}

func (s *server) Connect(context.Context) (driver.Conn, error) {
	s.dials++
	return &serverConn{s}, nil
}
func (s *server) Driver() driver.Driver { return nil }

type serverConn struct{ *server }

func (c *serverConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c *serverConn) Close() error                        { return nil }
func (c *serverConn) Commit() error                       { return c.commit }
func (c *serverConn) Rollback() error                     { return c.abort }

func (c *serverConn) Begin() (driver.Tx, error) {
	if len(c.begin) == 0 {
		return c, nil
	}
	err := c.begin[0]
	c.begin = c.begin[1:]
	return c, err
}

func (c *serverConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), c.exec
}

// run makes one transaction of one statement.
func (s *server) run(t *testing.T, times int) (err error) {
	t.Helper()
	db := bounded(sql.OpenDB(s), 1)
	defer func() { _ = db.Close() }()
	st := &Store{d: mysqlDialect, write: db}
	for range times {
		err = st.inTx(t.Context(), func(q session) error {
			_, err := q.exec(t.Context(), "UPDATE sales SET num = num - 1")
			return err
		})
	}
	return err
}

// A connection whose transaction could not be rolled back runs no other: its START
// TRANSACTION would commit the first half of the one before.
func TestHalfATransactionCommitted(t *testing.T) {
	failed := errors.New("a guard of ours")
	s := &server{exec: failed}
	if err := s.run(t, 3); !errors.Is(err, failed) || s.dials != 1 {
		t.Errorf("%v over %d connections; one that was rolled back serves on", err, s.dials)
	}
	s = &server{exec: failed, abort: errors.New("interrupted")}
	if err := s.run(t, 3); !errors.Is(err, failed) || s.dials != 3 {
		t.Errorf("%v over %d connections, want a new one after each", err, s.dials)
	}
}

// A pooled connection that died is replaced before anything was sent over it, and
// only then.
func TestTransactionOnADeadConnection(t *testing.T) {
	s := &server{begin: []error{driver.ErrBadConn, driver.ErrBadConn}}
	if err := s.run(t, 1); err != nil || s.dials != 3 {
		t.Errorf("%v after %d dials", err, s.dials)
	}
	s = &server{begin: []error{driver.ErrBadConn, driver.ErrBadConn, driver.ErrBadConn}}
	if err := s.run(t, 1); !errors.Is(err, order.ErrBusy) || errors.Is(err, order.ErrCommit) {
		t.Errorf("three dead connections: %v, want busy", err)
	}
	s = &server{commit: driver.ErrBadConn}
	if err := s.run(t, 1); !errors.Is(err, order.ErrCommit) || errors.Is(err, order.ErrBusy) || s.dials != 1 {
		t.Errorf("a connection that died at the commit: %v after %d dials, want an unknown outcome", err, s.dials)
	}
}
