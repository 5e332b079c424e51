package storetest

import (
	"os"
	"os/exec"

	"github.com/go-sql-driver/mysql"
)

// mariadb is MariaDB. It keeps its commits as in production: the log is flushed at
// each. What is smaller is what takes time to set up.
var mariadb = &engine{
	driver:    "mysql",
	sqlDriver: "mysql",
	ready:     "ready for connections",
	initialise: func(dir string) (*exec.Cmd, error) {
		program, err := find("mariadb-install-db", "mariadb-server-core mariadb-client-core", "/usr/bin", "/usr/local/bin")
		if err != nil {
			return nil, err
		}
		args := append(mariadbArgs(dir),
			"--auth-root-authentication-method=normal", "--skip-test-db",
			"--rpm", // leave the files of the system's own server alone
		)
		return exec.Command(program, args...), nil //nolint:gosec // the program that was looked up
	},
	serve: func(dir, port string) (*exec.Cmd, error) {
		program, err := find("mariadbd", "mariadb-server-core mariadb-client-core", "/usr/sbin", "/usr/local/sbin", "/usr/libexec")
		if err != nil {
			return nil, err
		}
		args := append(mariadbArgs(dir), // paths are relative to the data folder: that of a socket must be short
			"--bind-address=127.0.0.1", "--skip-networking=0", "--port="+port, "--socket=socket",
			"--pid-file=pid", "--max-connections=200", "--skip-name-resolve",
		)
		return exec.Command(program, args...), nil //nolint:gosec // the program that was looked up
	},
	dsn: func(addr string, l login) string {
		c := mysql.NewConfig()
		c.Net, c.Addr, c.User, c.Passwd, c.DBName = "tcp", addr, l.user, l.password, l.database
		return c.FormatDSN()
	},
	severalStatements: func(dsn string) (string, error) {
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			return "", err
		}
		c.MultiStatements = true
		return c.FormatDSN(), nil
	},
	admin:    login{user: "root", database: "mysql"},
	messages: mariadbMessages,
	create: func(name string) []string {
		return []string{
			"CREATE DATABASE " + name,
			"CREATE USER " + name + "@'127.0.0.1' IDENTIFIED BY '" + name + "'",
			"GRANT ALL ON " + name + ".* TO " + name + "@'127.0.0.1'",
		}
	},
	drop: func(name string) []string {
		return []string{
			// A connection that a test left open in a transaction would keep the tables.
			"SET SESSION lock_wait_timeout = 10",
			"KILL USER " + name + "@'127.0.0.1'",
			"DROP DATABASE " + name,
			"DROP USER " + name + "@'127.0.0.1'",
		}
	},
}

// mariadbArgs are the arguments that setting up a data folder and serving it share.
func mariadbArgs(dir string) []string {
	args := []string{
		"--no-defaults", "--datadir=" + dir, "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=32M",
		"--innodb-log-file-size=16M", "--performance-schema=OFF", "--lc-messages=en_US",
	}
	if os.Getuid() == 0 { // it refuses root that isn't asked for by name
		args = append(args, "--user=root")
	}
	return args
}
