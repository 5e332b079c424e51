package storetest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

const postgresAdmin = "postgres"

// postgres is PostgreSQL. It keeps its commits as in production: each is flushed.
// What is smaller is what takes time to set up. It refuses root: for root, it runs
// as the user that its package brings.
var postgres = &engine{
	driver:    "postgres",
	sqlDriver: "pgx",
	ready:     "database system is ready to accept connections",
	initialise: func(dir string) (*exec.Cmd, error) {
		// --no-sync: only a crash of the machine loses what isn't flushed, and the folder with it.
		return postgresCommand("initdb", "-D", dir, "-U", postgresAdmin, "--auth=trust", "-E", "UTF8", "--locale=C",
			"--wal-segsize=1", "--no-sync")
	},
	serve: func(dir, port string) (*exec.Cmd, error) {
		return postgresCommand("postgres", "-D", dir, "-c", "listen_addresses=127.0.0.1", "-c", "port="+port,
			"-c", "unix_socket_directories=", "-c", "fsync=on", "-c", "synchronous_commit=on",
			"-c", "shared_buffers=32MB", "-c", "max_connections=200", "-c", "logging_collector=off")
	},
	owner: postgresOwner,
	dsn: func(addr string, l login) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(l.user, l.password), Host: addr, Path: l.database, RawQuery: "sslmode=disable"}
		return u.String()
	},
	severalStatements: func(dsn string) (string, error) { return dsn, nil },
	admin:             login{user: postgresAdmin, database: "postgres"},
	messages:          postgresMessages,
	create: func(name string) []string {
		return []string{
			"CREATE ROLE " + name + " LOGIN PASSWORD '" + name + "'",
			"CREATE DATABASE " + name + " OWNER " + name,
		}
	},
	drop: func(name string) []string {
		return []string{
			"DROP DATABASE " + name + " WITH (FORCE)",
			"DROP ROLE " + name,
		}
	},
}

// postgresCommand is a program of PostgreSQL's. Debian keeps them in a folder of
// each version's, off the PATH; the newest is taken.
func postgresCommand(program string, args ...string) (*exec.Cmd, error) {
	path, err := find(program, "postgresql", postgresFolders()...)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // the program that was looked up; its owner kills it
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	uid, gid, err := postgresOwner()
	if err != nil {
		return nil, err
	}
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}} //nolint:gosec // ids that the system gave
	}
	return cmd, nil
}

// postgresFolders lists the folders of the versions, the newest first.
func postgresFolders() []string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	version := func(folder string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		return n
	}
	slices.SortFunc(folders, func(a, b string) int { return version(b) - version(a) })
	return folders
}

// postgresOwner says whose its processes and files are.
func postgresOwner() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return os.Getuid(), os.Getgid(), nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, fmt.Errorf("PostgreSQL refuses root: %w; install it (Debian and Ubuntu: apt-get install postgresql), or run the tests as another user", err)
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}
