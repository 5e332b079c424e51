package store

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

const mysqlDeadlock = 1213 // ER_LOCK_DEADLOCK

// mysqlGuards are the errors of constraints. Numbers are those of the MySQL and
// MariaDB error references.
var mysqlGuards = map[uint16]bool{
	1062: true, // ER_DUP_ENTRY
	1586: true, // ER_DUP_ENTRY_WITH_KEY_NAME
	3819: true, // MySQL's ER_CHECK_CONSTRAINT_VIOLATED
	4025: true, // MariaDB's ER_CONSTRAINT_FAILED
}

// mysqlBusy are the errors of a transaction that may pass a moment later.
var mysqlBusy = map[uint16]bool{
	mysqlDeadlock: true,
	1020:          true, // ER_CHECKREAD: the record has changed since it was read
	1205:          true, // ER_LOCK_WAIT_TIMEOUT
	3572:          true, // ER_LOCK_NOWAIT
	1317:          true, // ER_QUERY_INTERRUPTED
	1969:          true, // MariaDB's ER_STATEMENT_TIMEOUT
	3024:          true, // MySQL's ER_QUERY_TIMEOUT
	1040:          true, // ER_CON_COUNT_ERROR: too many connections
	1203:          true, // ER_TOO_MANY_USER_CONNECTIONS
	1226:          true, // ER_USER_LIMIT_REACHED
	1047:          true, // Galera: the node is not ready
	1053:          true, // ER_SERVER_SHUTDOWN
	1927:          true, // MariaDB's ER_CONNECTION_KILLED
}

// mysqlNumber is the server's error number, 0 for other errors.
func mysqlNumber(err error) uint16 {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return 0
	}
	return e.Number
}
