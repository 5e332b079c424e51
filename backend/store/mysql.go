package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// mysqlDialect is MySQL and MariaDB.
var mysqlDialect = &dialect{
	goose:  goose.DialectMySQL,
	folder: "mysql",
	locker: func() (lock.SessionLocker, error) { return mysqlLocker{}, nil },
	bind:   func(query string) string { return query },
	// NOW is in the session's time zone, which is UTC: in one with daylight
	// saving, an hour a year would be read as another. UNIX_TIMESTAMP of it is a
	// decimal with three places, so nothing is rounded.
	clock:      func(func() time.Time) string { return "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)" },
	greatest:   "GREATEST",
	rows:       rowsInBrackets,
	raiseQuota: mysqlRaiseQuota,

	isGuard: func(err error) bool { return mysqlGuards[mysqlNumber(err)] },
	isBusy: func(err error) bool {
		return mysqlBusy[mysqlNumber(err)] || errors.Is(err, mysql.ErrInvalidConn) || isConnection(err)
	},
	// A cluster that certifies at the commit (Galera) reports conflicts there.
	isRolledBack: func(err error) bool { return mysqlNumber(err) == mysqlDeadlock },
}

// connectMySQL reads a data source name. What it says of time-outs is kept; what
// would change the meaning of a statement is not.
func connectMySQL(dsn string) (*database, error) {
	base, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("sql.dsn: %w", err)
	}
	at := base.Addr + "/" + base.DBName
	switch {
	case base.DBName == "":
		return nil, errors.New("sql.dsn: name the database, as in user:password@tcp(host:3306)/database")
	case base.AllowCleartextPasswords && base.TLS == nil && base.Net != "unix":
		return nil, fmt.Errorf("database %s: allowCleartextPasswords would show the password to the network; add tls=true", at)
	}
	if err := harden(base); err != nil {
		return nil, fmt.Errorf("database %s: %w", at, err)
	}
	return &database{dialect: mysqlDialect, at: at, pool: func(use use, conns int) (*sql.DB, error) {
		times := withTimes(base.Clone(), use)
		c, err := mysql.NewConnector(times)
		if err != nil {
			return nil, fmt.Errorf("database %s: %w", at, err)
		}
		return bounded(sql.OpenDB(mysqlConnector{c, mysqlSettings(use), 2 * times.Timeout}), conns), nil
	}}, nil
}

// harden overrides what a data source name must not choose.
func harden(c *mysql.Config) error {
	// Values are written into the statement by the driver: one round trip instead
	// of three. That is safe only where no character's bytes contain a quote or a
	// backslash, as some of GBK's and Shift JIS's do: the connection speaks utf8mb4.
	c.InterpolateParams = true
	if err := c.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return err
	}
	// An update counts the rows that matched, as on the other engines, and not
	// those that it changed: guards compare that number.
	c.ClientFoundRows = true
	c.MultiStatements = false // a statement is never two
	c.AllowAllFiles = false   // the server must not read our files
	c.AllowOldPasswords = false
	c.ColumnsWithAlias = false
	c.CheckConnLiveness = true
	c.RejectReadOnly = true // a primary that was demoted: connect anew
	c.Loc = time.UTC
	c.Logger = &mysql.NopLogger{} // every error reaches a caller, who logs it
	return nil
}

// withTimes bounds what the data source name leaves unbounded. The read bound is
// the only one that a commit has.
func withTimes(c *mysql.Config, use use) *mysql.Config {
	if c.Timeout == 0 {
		c.Timeout = connectTime
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = use.statementTime() + slack
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = writeTime + slack
	}
	return c
}

// mysqlSettings are sent over a new connection, after whatever the data source
// name sets. What only one of the two servers knows stands in a comment that the
// other one skips: /*M! is MariaDB's, and it leaves /*!80000 to MySQL.
func mysqlSettings(use use) []string {
	limit := use.statementTime()
	wait := lockTime
	if use == migrator {
		wait = lockPatience
	}
	return []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		fmt.Sprintf("SET SESSION autocommit = 1, time_zone = '+00:00', "+
			// Strict: what does not fit is an error and never cut to fit.
			"sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY', "+
			"innodb_lock_wait_timeout = %[1]d, lock_wait_timeout = %[1]d, wait_timeout = %[2]d "+
			"/*M!100300 , check_constraint_checks = 1, max_statement_time = %[3]d, idle_transaction_timeout = %[4]d */ "+
			"/*!80000 , max_execution_time = %[5]d */",
			seconds(wait), seconds(connLife+time.Minute), seconds(limit), seconds(idleTxTime), limit.Milliseconds()),
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// mysqlConnector is a driver's connector that settles each connection.
type mysqlConnector struct {
	driver.Connector
	settings []string
	bound    time.Duration // of dial, handshake and settings together
}

// Connect implements driver.Connector.
func (c mysqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	// The driver's time-outs bound the dial, and each read; a server that accepts
	// and says nothing would hold a migrator for as long as a migration may take.
	ctx, cancel := context.WithTimeout(ctx, c.bound)
	defer cancel()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range c.settings {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, s, nil); err != nil { //nolint:forcetypeassert // this driver's connections are
			_ = conn.Close()
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return conn, nil
}
