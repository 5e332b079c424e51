package storetest

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// engine is what differs between the database servers.
type engine struct {
	driver            string                                    // its name in a configuration
	sqlDriver         string                                    // its name in database/sql
	ready             string                                    // what the server says when it listens
	initialise        func(dir string) (*exec.Cmd, error)       // fills a data folder
	serve             func(dir, port string) (*exec.Cmd, error) // a server on the loopback interface
	owner             func() (uid, gid int, err error)          // of its folders; nil: whoever runs the tests
	dsn               func(addr string, l login) string         //
	severalStatements func(dsn string) (string, error)          // a data source that takes several statements at once
	messages          func(*bufio.Reader) messages              // of a client
	admin             login                                     // may make databases
	create, drop      func(name string) (statements []string)   // a database, and a user of that name and password
	template          struct {
		mu  sync.Mutex
		dir string // a data folder to copy; "" if there is none yet
	}
	shared struct {
		mu    sync.Mutex
		run   *instance // nil if it doesn't run
		err   error     // why it doesn't
		count int       // databases made so far
	}
}

// login is a user in a database.
type login struct{ user, password, database string }

var engines = []*engine{mariadb, postgres}

// find looks a program up, on the PATH first.
func find(program, packages string, folders ...string) (string, error) {
	path, err := exec.LookPath(program)
	for _, folder := range folders {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(folder, program))
	}
	if err != nil {
		return "", fmt.Errorf("%s is neither on the PATH nor in %s; install it (Debian and Ubuntu: apt-get install %s)",
			program, strings.Join(folders, ", "), packages)
	}
	return path, nil
}
