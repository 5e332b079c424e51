package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteDialect is the embedded engine. It has one writer, so a transaction is
// alone from its first read to its commit.
var sqliteDialect = &dialect{
	goose:    goose.DialectSQLite3,
	folder:   "sqlite",
	bind:     func(query string) string { return query },
	clock:    func(now func() time.Time) string { return strconv.FormatInt(now().UnixMilli(), 10) },
	greatest: "max",
	rows:     func(n int, placeholders string) string { return "(VALUES " + tuples(n, placeholders) + ")" },

	raiseQuota: upsertQuota,

	isGuard: func(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_CONSTRAINT },
	isBusy: func(err error) bool {
		code := sqliteCode(err) & 0xff
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	},
	isRolledBack: func(error) bool { return false },
}

// connectSQLite opens a file. WAL lets readers go on beside the one writer; FULL
// makes a committed order survive a power cut; immediate takes the write lock at
// BEGIN, since a transaction that first reads and then writes would fail at once
// with SQLITE_BUSY_SNAPSHOT when another process wrote between. Other processes
// (the commands) may write too: busy_timeout waits for them.
func connectSQLite(file string) (*database, error) {
	return &database{dialect: sqliteDialect, at: file, pool: func(use use, _ int) (*sql.DB, error) {
		q := url.Values{"_pragma": {"busy_timeout(2000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}}
		conns := 4 // readers; more gain nothing on the few cores that share one file
		if use != reader {
			q.Set("_txlock", "immediate")
			conns = 1 // SQLite has one writer: queue for it in Go, by deadline, not in busy_timeout
		}
		db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+q.Encode())
		if err != nil {
			return nil, fmt.Errorf("database %s: %w", file, err)
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db, nil
	}}, nil
}

// sqliteCode is the engine's result code, 0 for other errors. The low byte is
// the primary code.
func sqliteCode(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code()
}
