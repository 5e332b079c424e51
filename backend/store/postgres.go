package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// postgresDialect is PostgreSQL.
var postgresDialect = &dialect{
	goose:  goose.DialectPostgres,
	folder: "postgres",
	locker: func() (lock.SessionLocker, error) {
		return lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, uint64(lockPatience/time.Second)), lock.WithUnlockTimeout(1, 5))
	},
	bind: numbered,
	clock: func(func() time.Time) string {
		return "CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)" // now() stands still in a transaction
	},
	greatest:   "GREATEST",
	rows:       rowsInBrackets,
	raiseQuota: upsertQuota,

	isGuard: func(err error) bool {
		code := sqlState(err)
		return code == "23505" || code == "23514" // unique_violation, check_violation
	},
	isBusy: func(err error) bool { return postgresBusy(sqlState(err)) || isConnection(err) || isDial(err) },
	// Class 40 is "transaction rollback", but for 40003, statement completion
	// unknown; class 23 is a constraint judged at the commit.
	isRolledBack: func(err error) bool {
		code := sqlState(err)
		return errors.Is(err, pgx.ErrTxCommitRollback) ||
			strings.HasPrefix(code, "40") && code != "40003" || strings.HasPrefix(code, "23")
	},
}

// connectPostgres reads a data source name, a URL or pairs. What it says of the
// time to connect is kept; what would change the meaning of a statement, or of a
// commit, is not.
func connectPostgres(dsn string) (*database, error) {
	base, err := pgx.ParseConfig(dsn)
	if err != nil {
		// Its text quotes the data source name, and not every password in it is
		// recognised as one.
		cause := errors.Unwrap(err)
		if cause == nil {
			cause = errors.New("write postgres://user:password@host:5432/database")
		}
		return nil, fmt.Errorf("sql.dsn cannot be read: %w", cause)
	}
	at := net.JoinHostPort(base.Host, strconv.Itoa(int(base.Port))) + "/" + base.Database
	if base.ConnectTimeout == 0 {
		base.ConnectTimeout = connectTime
	}
	// One round trip a statement, and nothing is kept in the server: groups come
	// in a hundred sizes, each another text, and a pooler may stand between.
	base.DefaultQueryExecMode = pgx.QueryExecModeExec
	// Of several hosts, only the primary knows what was committed. One that was
	// demoted while we looked away is left.
	base.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	return &database{dialect: postgresDialect, at: at, pool: func(use use, conns int) (*sql.DB, error) {
		c := base.Copy()
		settle(c.RuntimeParams, use)
		return bounded(stdlib.OpenDB(*c), conns), nil
	}}, nil
}

// settle overrides the settings of a session. They win over those in "options".
func settle(params map[string]string, use use) {
	wait, idle := lockTime, idleTxTime
	if use == migrator {
		wait, idle = lockPatience, migrateTime
	}
	params["client_encoding"] = "UTF8"
	params["default_transaction_isolation"] = "read committed"
	params["default_transaction_read_only"] = "off"
	params["lock_timeout"] = milliseconds(wait)
	params["statement_timeout"] = milliseconds(use.statementTime())
	params["idle_in_transaction_session_timeout"] = milliseconds(idle)
	delete(params, "synchronous_commit") // the server's own: an order that was told of must survive it
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// texts holds the statements with numbered placeholders. Their number is bounded:
// a dozen statements, a few of them in as many lengths as a group has.
var texts sync.Map // string → string

// numbered turns each ? into $1, $2 and so on. No statement here has a question
// mark of another kind.
func numbered(query string) string {
	if text, ok := texts.Load(query); ok {
		return text.(string) //nolint:forcetypeassert // nothing else is stored
	}
	var b strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	text, _ := texts.LoadOrStore(query, b.String())
	return text.(string) //nolint:forcetypeassert // nothing else is stored
}

// postgresBusy says that a transaction may pass a moment later. The codes are those
// of PostgreSQL's appendix A.
func postgresBusy(code string) bool {
	switch code {
	case "40001", // serialization_failure
		"40P01",          // deadlock_detected
		"55P03",          // lock_not_available
		"57014",          // query_canceled: its time was over
		"53300",          // too_many_connections
		"57P01", "57P02", // admin_shutdown, crash_shutdown
		"57P03", // cannot_connect_now
		"57P05", // idle_session_timeout
		"25P03": // idle_in_transaction_session_timeout
		return true
	}
	return strings.HasPrefix(code, "08") // connection exceptions
}

func isDial(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok && sqlState(err) == "" // a server that answered has its say above
}

// sqlState is the server's error code, "" for other errors.
func sqlState(err error) string {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return ""
	}
	return e.Code
}
