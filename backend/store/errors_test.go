package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"rushgate/backend/order"
)

// What a server says decides what is done next: read again, do all of it again, or
// give up.
func TestErrorTakenForAnother(t *testing.T) {
	my := func(n uint16) error { return fmt.Errorf("writing: %w", &mysql.MySQLError{Number: n}) }
	pg := func(code string) error { return fmt.Errorf("writing: %w", &pgconn.PgError{Code: code}) }
	none := errors.New("none")
	for _, c := range []struct {
		name string
		d    *dialect
		err  error
		want error // order.ErrGuard, order.ErrBusy or none
	}{
		{"a key twice", mysqlDialect, my(1062), order.ErrGuard},
		{"MySQL's CHECK", mysqlDialect, my(3819), order.ErrGuard},
		{"MariaDB's CHECK", mysqlDialect, my(4025), order.ErrGuard},
		{"a deadlock", mysqlDialect, my(1213), order.ErrBusy},
		{"a lock wait", mysqlDialect, my(1205), order.ErrBusy},
		{"a lock not waited for", mysqlDialect, my(3572), order.ErrBusy},
		{"a record that has changed", mysqlDialect, my(1020), order.ErrBusy},
		{"too many connections", mysqlDialect, my(1040), order.ErrBusy},
		{"a statement's time", mysqlDialect, my(1969), order.ErrBusy},
		{"a connection that broke", mysqlDialect, mysql.ErrInvalidConn, order.ErrBusy},
		{"a connection that was dead", mysqlDialect, driver.ErrBadConn, order.ErrBusy},
		{"nobody listens", mysqlDialect, &net.OpError{Op: "dial", Err: errors.New("refused")}, order.ErrBusy},
		{"no such table", mysqlDialect, my(1146), none},
		{"a wrong password", mysqlDialect, my(1045), none},
		{"a key twice", postgresDialect, pg("23505"), order.ErrGuard},
		{"CHECK", postgresDialect, pg("23514"), order.ErrGuard},
		{"a deadlock", postgresDialect, pg("40P01"), order.ErrBusy},
		{"a serialization failure", postgresDialect, pg("40001"), order.ErrBusy},
		{"a lock wait", postgresDialect, pg("55P03"), order.ErrBusy},
		{"a statement's time", postgresDialect, pg("57014"), order.ErrBusy},
		{"too many connections", postgresDialect, pg("53300"), order.ErrBusy},
		{"a shut-down", postgresDialect, pg("57P01"), order.ErrBusy},
		{"a connection that broke", postgresDialect, io.ErrUnexpectedEOF, order.ErrBusy},
		{"no such table", postgresDialect, pg("42P01"), none},
		{"a wrong password", postgresDialect, pg("28P01"), none},
		{"somebody gave up", postgresDialect, fmt.Errorf("timeout: %w", context.DeadlineExceeded), none},
		{"somebody gave up", mysqlDialect, context.Canceled, none},
	} {
		s := &Store{d: c.d}
		got := s.classify(c.err)
		for _, reason := range []error{order.ErrGuard, order.ErrBusy} {
			if errors.Is(got, reason) != (c.want == reason) { //nolint:errorlint // the table's own values
				t.Errorf("%s, %s: %v", c.d.folder, c.name, got)
			}
		}
		if !errors.Is(got, c.err) {
			t.Errorf("%s, %s: the cause is gone: %v", c.d.folder, c.name, got)
		}
	}
}

// Only an answer proves that a commit was not done.
func TestLostCommitTakenForARollback(t *testing.T) {
	for _, c := range []struct {
		name string
		d    *dialect
		err  error
		want bool
	}{
		{"a broken connection", mysqlDialect, mysql.ErrInvalidConn, false},
		{"a dead connection", mysqlDialect, driver.ErrBadConn, false},
		{"a shut-down", mysqlDialect, &mysql.MySQLError{Number: 1053}, false},
		{"an interruption", mysqlDialect, &mysql.MySQLError{Number: 1317}, false},
		{"a conflict in a cluster", mysqlDialect, &mysql.MySQLError{Number: 1213}, true},
		{"a broken connection", postgresDialect, io.ErrUnexpectedEOF, false},
		{"a shut-down", postgresDialect, &pgconn.PgError{Code: "57P01"}, false},
		{"completion unknown", postgresDialect, &pgconn.PgError{Code: "40003"}, false},
		{"a cancelled wait for a standby", postgresDialect, &pgconn.PgError{Code: "57014"}, false},
		{"a serialization failure", postgresDialect, &pgconn.PgError{Code: "40001"}, true},
		{"a deferred constraint", postgresDialect, &pgconn.PgError{Code: "23505"}, true},
		{"a transaction that had failed", postgresDialect, pgx.ErrTxCommitRollback, true},
		{"anything", sqliteDialect, errors.New("disk full"), false},
	} {
		if got := c.d.isRolledBack(c.err); got != c.want {
			t.Errorf("%s, %s: rolled back %v, want %v", c.d.folder, c.name, got, c.want)
		}
	}
}
