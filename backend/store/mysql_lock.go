package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// lockPatience bounds the wait for another process's migration.
const lockPatience = time.Minute

// mysqlLocker lets one process migrate at a time: it implements goose's
// lock.SessionLocker by a named lock, which ends with its connection. Such names
// are the whole server's and at most 64 characters long, hence the hash of the
// database's.
type mysqlLocker struct{}

const mysqlLockName = "CONCAT('rushgate.', SHA1(DATABASE()))"

// SessionLock waits for the lock.
func (mysqlLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+mysqlLockName+", ?)", seconds(lockPatience)).Scan(&got)
	switch {
	case err != nil:
		return fmt.Errorf("waiting for the migration lock: %w", err)
	case got.Int64 != 1:
		return fmt.Errorf("another process has been migrating the schema for %s; start again when it is done", lockPatience)
	}
	return nil
}

// SessionUnlock gives the lock back.
func (mysqlLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var gave sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK("+mysqlLockName+")").Scan(&gave)
	if err == nil && gave.Int64 != 1 {
		err = errors.New("the migration lock was lost: the connection changed")
	}
	return err
}
