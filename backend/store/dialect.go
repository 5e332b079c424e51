package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"rushgate/backend/order"
)

// engines connects by the driver's name.
var engines = map[string]func(dsn string) (*database, error){
	"sqlite":   connectSQLite,
	"mysql":    connectMySQL,
	"postgres": connectPostgres,
}

// database is where one data source name leads. Nothing is dialled before a pool
// is used.
type database struct {
	*dialect
	at   string // for messages: without the password
	pool func(use use, conns int) (*sql.DB, error)
}

// dialect is what differs between the engines. A statement that is the same for
// all, but for these words, stands once, with ? for its values.
type dialect struct {
	goose    goose.Dialect
	folder   string                                  // of its migrations
	locker   func() (lock.SessionLocker, error)      // one process migrates at a time; nil: one that was in another's way tries again
	bind     func(query string) string               // writes the placeholders as the engine does
	clock    func(now func() time.Time) string       // Unix milliseconds, an expression
	greatest string                                  // the function that picks the largest of its values
	rows     func(n int, placeholders string) string // what may follow IN where rows of values are looked for
	// raiseQuota adds what each user takes to the quota rows, and returns
	// order.ErrGuard if a sum would pass perUser, which no single take does.
	raiseQuota func(ctx context.Context, q session, item string, perUser int64, takes []order.Take) error

	isGuard      func(error) bool // a constraint said no
	isBusy       func(error) bool // rolled back; the same transaction may pass later
	isRolledBack func(error) bool // this answer to a commit says that nothing was done
}

// use is what the connections of a pool are for.
type use int

const (
	writer use = iota
	reader
	migrator
)

// Bounds of one statement, held by the server where it can. A writing one takes
// no longer than a gateway waits, since others queue behind its rows; an audit
// reads a whole sale; a migration may rewrite a table.
const (
	lockTime    = 2 * time.Second // of its wait for others' row locks
	writeTime   = 4 * time.Second
	readTime    = time.Minute
	migrateTime = 10 * time.Minute
)

// slack is how much later than the server we end a statement, by breaking the
// connection: an answer that says what happened is worth waiting for.
const slack = time.Second

// txTime bounds a writing transaction whose caller set no deadline, its wait for a
// connection included.
const txTime = 30 * time.Second

// statementTime is the bound of a statement in a pool.
func (u use) statementTime() time.Duration {
	switch u {
	case reader:
		return readTime
	case migrator:
		return migrateTime
	case writer:
	}
	return writeTime
}
