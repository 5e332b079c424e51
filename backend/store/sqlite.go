package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteDialect is the embedded engine. WAL lets readers go on beside the one
// writer; FULL makes a committed order survive a power cut; immediate takes the
// write lock at BEGIN, since a transaction that first reads and then writes
// would fail at once with SQLITE_BUSY_SNAPSHOT when another process wrote
// between. Other processes (the commands) may write too: busy_timeout waits for
// them.
var sqliteDialect = dialect{
	name:   goose.DialectSQLite3,
	folder: "sqlite",
	open: func(file string, writer bool) (*sql.DB, error) {
		q := url.Values{"_pragma": {"busy_timeout(2000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}}
		conns := 4 // readers; more gain nothing on the few cores that share one file
		if writer {
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
	},
	isGuard: func(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_CONSTRAINT },
	isBusy: func(err error) bool {
		code := sqliteCode(err) & 0xff
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	},
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
