package storetest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one run of a program.
type process struct {
	cmd    *exec.Cmd
	log    *logbook
	exited chan struct{} // closed when it and its children have ended and the log is complete
	err    error         // how it ended; to be read after exited
}

// start runs the command until it ends or is killed. One goroutine starts it, waits
// for it, and keeps its thread to itself: where the process is told to die with its
// parent, that is the thread.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, log: newLogbook(), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.WaitDelay = patience // for a child that outlives it
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run runs the command to its end.
func run(cmd *exec.Cmd) error {
	p, err := start(cmd)
	if err != nil {
		return err
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		p.kill()
		return fmt.Errorf("%s has not ended for %v; it said:\n%s", p.name(), patience, p.log)
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w; it said:\n%s", p.name(), p.err, p.log)
	}
	return nil
}

// name is the program's.
func (p *process) name() string { return filepath.Base(p.cmd.Path) }

// kill ends the process and its children, frozen or not, and waits until they are
// gone.
func (p *process) kill() {
	_ = p.freeze() // it may have ended already
	_ = p.signal(syscall.SIGKILL)
	<-p.exited
}

// freeze stops the process and its children. It comes first, so that it starts no
// child that is overlooked.
func (p *process) freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return p.signal(syscall.SIGSTOP)
}

// signal sends the signal to the process and to its children, which are another's
// as soon as it has ended.
func (p *process) signal(sig syscall.Signal) error {
	pids, err := children(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		return err
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it may have ended already
	}
	return nil
}

// waitFor waits until the process has said the phrase.
func (p *process) waitFor(phrase string) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		said, more := p.log.look(phrase)
		if said {
			return nil
		}
		select {
		case <-more:
		case <-p.exited: // and its log is complete
			if said, _ := p.log.look(phrase); said {
				return nil
			}
			return fmt.Errorf("%s ended before it said %q", p.name(), phrase)
		case <-deadline.C:
			return fmt.Errorf("%s has not said %q for %v", p.name(), phrase, patience)
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

// look says whether the phrase is there, and returns what is closed at the next
// write.
func (l *logbook) look(phrase string) (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), phrase), l.more
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
