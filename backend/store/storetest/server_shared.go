package storetest

import (
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// root is the folder that holds all data, from the first server to Stop.
var root struct {
	mu   sync.Mutex
	keep *keeper
}

func folder() (string, error) {
	root.mu.Lock()
	defer root.mu.Unlock()
	if root.keep == nil {
		k, err := keep()
		if err != nil {
			return "", err
		}
		root.keep = k
	}
	return root.keep.dir, nil
}

// Main runs the tests of a package that uses MariaDB or PostgreSQL, ends the
// servers, and fails if a goroutine is left. It is called by TestMain, and doesn't
// return.
func Main(m *testing.M, options ...goleak.Option) { goleak.VerifyTestMain(stopping{m}, options...) }

type stopping struct{ *testing.M }

func (s stopping) Run() int {
	defer Stop()
	return s.M.Run()
}

// Stop ends the shared servers and removes all data. Without it they end with the
// process, but a check for goroutines finds those that wait for them. No test may
// run.
func Stop() {
	for _, e := range engines {
		e.stop()
	}
	root.mu.Lock()
	defer root.mu.Unlock()
	if root.keep != nil {
		root.keep.close()
		root.keep = nil
	}
}

func (e *engine) stop() {
	e.shared.mu.Lock()
	defer e.shared.mu.Unlock()
	if e.shared.run != nil {
		e.shared.run.run.kill()
		e.shared.run = nil
	}
	e.template.mu.Lock()
	defer e.template.mu.Unlock()
	e.template.dir = ""
}

// share returns the server that all tests of the process share, and a name that no
// database on it has had. If it could not be started it isn't tried again: each
// test fails at once, for the same reason.
func (e *engine) share() (*instance, string, error) {
	e.shared.mu.Lock()
	defer e.shared.mu.Unlock()
	if e.shared.run == nil && e.shared.err == nil {
		e.shared.run, e.shared.err = newInstance(e)
	}
	e.shared.count++
	return e.shared.run, fmt.Sprintf("rushgate_%d", e.shared.count), e.shared.err
}
