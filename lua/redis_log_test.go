package lua

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// The library's log is the process', so these tests stand alone: they are not
// parallel.

func TestLibraryLogsToStandardError(t *testing.T) {
	var log lockedBuffer
	LogTo(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer LogTo(nil)
	failToDial(t)
	if got := log.String(); !strings.Contains(got, "level=DEBUG") || !strings.Contains(got, "failed to dial") {
		t.Errorf("the log says %q, want the connection that failed, as level=DEBUG", got)
	}
}

func TestLibraryLogsAboveDebug(t *testing.T) {
	var log lockedBuffer
	LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	defer LogTo(nil)
	failToDial(t)
	if got := log.String(); got != "" {
		t.Errorf("the log says %q at level Info, want nothing", got)
	}
}

// The place may change while calls fail.
func TestLogIsMovedInTheMiddle(t *testing.T) {
	defer LogTo(nil)
	c := dialWith(t, DialOptions{Addrs: []string{"127.0.0.1:1"}, Timeouts: patient})
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { _ = c.Ping(t.Context()) })
	}
	for range 100 {
		LogTo(slog.New(slog.DiscardHandler))
		LogTo(nil)
	}
	running.Wait()
}

func failToDial(t *testing.T) {
	t.Helper()
	c := dialWith(t, DialOptions{Addrs: []string{"127.0.0.1:1"}, Timeouts: patient})
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a server answers where none is")
	}
}

// lockedBuffer may be written to by many.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
