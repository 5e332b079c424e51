package storetest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// patience bounds every wait for a server. It is long because a machine under test
// is busy; nothing waits for it to pass unless something is wrong.
const patience = 60 * time.Second

// startTries is how many ports are tried: between our finding one free and the
// server's taking it, another process may.
const startTries = 5

// instance is a server with its data folder. It is used by one goroutine at a time.
type instance struct {
	engine *engine
	dir    string
	port   string
	run    *process
}

// newInstance starts a server on new data.
func newInstance(e *engine) (*instance, error) {
	dir, err := e.newData()
	if err != nil {
		return nil, err
	}
	i := &instance{engine: e, dir: dir}
	for range startTries {
		if i.port, err = freePort(); err != nil {
			break
		}
		if err = i.launch(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			break
		}
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return i, nil
}

func (i *instance) addr() string { return net.JoinHostPort("127.0.0.1", i.port) }

// launch starts the process and waits until it listens. It ends at once where it
// cannot, so one that says it does is ours.
func (i *instance) launch() error {
	cmd, err := i.engine.serve(i.dir, i.port)
	if err != nil {
		return err
	}
	if i.run, err = start(cmd); err != nil {
		return err
	}
	if err := i.run.waitFor(i.engine.ready); err != nil {
		i.run.kill()
		return fmt.Errorf("%w; it said:\n%s", err, i.run.log)
	}
	return nil
}

// remove ends the server, and its data.
func (i *instance) remove() error {
	i.run.kill()
	return os.RemoveAll(i.dir)
}

// newData makes a data folder by copying one, which takes a tenth of the time that
// setting it up does.
func (e *engine) newData() (string, error) {
	e.template.mu.Lock()
	defer e.template.mu.Unlock()
	if e.template.dir == "" {
		dir, err := e.newFolder()
		if err != nil {
			return "", err
		}
		cmd, err := e.initialise(dir)
		if err == nil {
			cmd.Dir = dir
			err = run(cmd)
		}
		if err != nil {
			_ = os.RemoveAll(dir)
			return "", err
		}
		e.template.dir = dir
	}
	dir, err := e.newFolder()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("cp", "-Rp", e.template.dir+"/.", dir) //nolint:gosec,noctx // folders of ours; run bounds it
	if err := run(cmd); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// newFolder makes an empty folder for the engine's data.
func (e *engine) newFolder() (string, error) {
	root, err := folder()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(root, e.driver)
	if err != nil || e.owner == nil {
		return dir, err
	}
	uid, gid, err := e.owner()
	if err == nil {
		err = os.Chown(dir, uid, gid)
	}
	return dir, err
}

// freePort finds a port that nobody listens at. It is not one of those that the
// system hands out (32768 and above on Linux): while a server is down, a client
// that dials it again and again could get its port, and even reach itself.
func freePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(10_000 + rand.IntN(22_768)) //nolint:gosec // no secret
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			return port, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}
