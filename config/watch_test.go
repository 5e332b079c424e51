package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what will come; one that works never
// waits for it.
const patience = 30 * time.Second

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), words)
}

// followed is a Watcher that runs, and what it told.
type followed struct {
	*Watcher
	outcomes chan Outcome
	log      *lines
	mu       sync.Mutex
	applied  [][]Change
}

// deaf is a system without a way to hear of changes.
func deaf() (*notifier, error) { return nil, errors.New("too many open files") }

// follow loads a configuration and runs a Watcher of it until the test ends. o is
// filled up: what is not set applies everything and reports to the result.
func follow(t *testing.T, files Options, o WatchOptions, change ...func(*Watcher)) *followed {
	t.Helper()
	l, err := Load(files)
	if err != nil {
		t.Fatal(render(t, err))
	}
	f := &followed{outcomes: make(chan Outcome, 10_000), log: &lines{}}
	if o.Load == nil {
		o.Load = func() (*Loaded, error) { return Load(files) }
	}
	if o.Apply == nil {
		o.Apply = func(_ *Loaded, changes []Change) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.applied = append(f.applied, changes)
			return nil
		}
	}
	o.Log = slog.New(slog.NewTextHandler(f.log, nil))
	o.Observe = func(o Outcome) { f.outcomes <- o }
	f.Watcher = NewWatcher(l, o)
	for _, c := range change {
		c(f.Watcher)
	}
	// The folders are watched when it returns, so that no event is before it.
	ready := make(chan struct{})
	notify := f.notify
	f.notify = func() (*notifier, error) {
		n, err := notify()
		n.follow(names(f.read()), f.o.Log)
		close(ready)
		return n, err
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	<-ready
	return f
}

// next is the outcome of the next attempt.
func (f *followed) next(t *testing.T) Outcome {
	t.Helper()
	select {
	case o := <-f.outcomes:
		return o
	case <-time.After(patience):
		t.Fatalf("no reload; log:\n%s", f.log.text.String())
		return Outcome{}
	}
}

// becomes waits until the rate by user, which these tests write into the file, is
// qps. No attempt on the way there may fail.
func (f *followed) becomes(t *testing.T, qps float64) {
	t.Helper()
	for f.Current().Config.Limits.User.QPS != qps {
		if o := f.next(t); o.Err != nil {
			t.Fatalf("a reload failed: %v", o.Err)
		}
	}
}

// rate is a configuration.
func rate(qps int) string { return fmt.Sprintf("limits: {user: {qps: %d, burst: 5}}\n", qps) }

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bothWays runs a test twice: with nothing but the system's events, and with
// nothing but looks at the files. Each alone must find every change.
func bothWays(t *testing.T, test func(t *testing.T, dir string, follow func(file string) *followed)) {
	t.Run("by events", func(t *testing.T) {
		test(t, t.TempDir(), func(file string) *followed {
			return follow(t, Options{File: file}, WatchOptions{Poll: time.Hour})
		})
	})
	t.Run("by looks", func(t *testing.T) {
		test(t, t.TempDir(), func(file string) *followed {
			return follow(t, Options{File: file}, WatchOptions{Poll: 10 * time.Millisecond}, func(w *Watcher) { w.notify = deaf })
		})
	})
}

// What the project promises: a change is in use within a second. What loading
// takes comes on top.
func TestChangesAreSeenWithinASecond(t *testing.T) {
	const again = debounce // a load that failed is tried once more
	if late := defaultPoll + grace + again; late >= time.Second {
		t.Errorf("a change may be seen %v late", late)
	}
	if grace%debounce != 0 || grace < 2*debounce {
		t.Errorf("grace %v is not a few times debounce %v", grace, debounce)
	}
}

func TestWrittenInPlace(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		file := filepath.Join(dir, "rushgate.yaml")
		write(t, file, rate(1))
		f := follow(file)
		for qps := 2; qps <= 4; qps++ {
			write(t, file, rate(qps)) // of the same length, maybe within one tick of the file's time
			f.becomes(t, float64(qps))
		}
	})
}

func TestNeighboursAreNotListenedTo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rushgate.yaml")
	write(t, file, rate(1))
	n, err := newNotifier()
	must(t, err)
	defer n.close()
	n.follow([]string{file}, slog.New(slog.DiscardHandler))
	write(t, filepath.Join(dir, "rushgate.db-wal"), "x")
	write(t, file, rate(2))
	for {
		select {
		case e := <-n.events():
			if filepath.Base(e.Name) == "rushgate.yaml" {
				if !n.concerns(e) {
					t.Errorf("%v is not taken for a change of the file", e)
				}
				return
			}
			if n.concerns(e) {
				t.Errorf("%v is taken for a change of the file", e)
			}
		case <-time.After(patience):
			t.Fatal("no event")
		}
	}
}
