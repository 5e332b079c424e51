package luatest

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// process is one run of a server.
type process struct {
	cmd    *exec.Cmd
	log    *logbook
	exited chan struct{} // closed when it has ended and its log is complete
}

// start runs the command until it ends or is killed. One goroutine starts it, waits
// for it, and keeps its thread to itself: where the process is told to die with its
// parent, that is the thread.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, log: newLogbook(), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // a kill is an error too
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill ends the process, frozen or not, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.exited
}

// waitFor waits until the process has said one of the phrases.
func (p *process) waitFor(phrases ...string) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		said, more := p.log.look(phrases)
		if said {
			return nil
		}
		select {
		case <-more:
		case <-p.exited: // and its log is complete
			if said, _ := p.log.look(phrases); said {
				return nil
			}
			return fmt.Errorf("redis-server ended before it said %q", phrases)
		case <-deadline.C:
			return fmt.Errorf("redis-server has not said %q for %v", phrases, patience)
		}
	}
}

// logbook keeps what a process writes and tells when there is more.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed at the next write
}

func newLogbook() *logbook { return &logbook{more: make(chan struct{})} }

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.text.Write(b)
}

// look says whether a phrase is there, and returns what is closed at the next
// write.
func (l *logbook) look(phrases []string) (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(l.text.String(), p) })
	return said, l.more
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// clear forgets what was said, so that the next phrase waited for is a new one.
func (l *logbook) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}
