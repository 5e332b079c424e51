package storetest

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Wire lies between clients and a server, and loses what it is told to. Its faults
// can be switched at any time, by any goroutine.
type Wire struct {
	t       testing.TB
	server  *Server
	from    net.Listener
	losing  atomic.Bool
	refuses atomic.Bool
	commit  atomic.Int32 // what happens to the next COMMIT
	lost    atomic.Int64
	running sync.WaitGroup

	mu      sync.Mutex
	lines   map[*line]struct{}
	awaited map[string]chan struct{} // texts that tests wait for
	ended   bool
}

// What happens to a COMMIT.
const (
	commitPasses int32 = iota
	commitIsLost
	commitIsCut
)

// NewWire opens a wire to the server. It ends with the test.
func NewWire(t testing.TB, s *Server) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("storetest: open a wire: %v", err)
	}
	w := &Wire{t: t, server: s, from: l, lines: make(map[*line]struct{}), awaited: make(map[string]chan struct{})}
	w.running.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// DSN is the data source name of the server's database by way of the wire.
func (w *Wire) DSN() string { return w.server.dsn(w.Addr()) }

// Addr is where clients connect to, host:port.
func (w *Wire) Addr() string { return w.from.Addr().String() }

// LoseReplies says whether replies get lost from now on: a statement still reaches
// the server and is executed, and the connection breaks in place of the reply.
func (w *Wire) LoseReplies(lose bool) { w.losing.Store(lose) }

// LoseCommit loses the reply to the next COMMIT: it reaches the server and is
// executed, and the connection breaks in place of the reply. One that is a
// statement of its own is meant, as database/sql sends it.
func (w *Wire) LoseCommit() { w.commit.Store(commitIsLost) }

// LoseBeforeCommit breaks the connection of the next COMMIT, which doesn't reach
// the server.
func (w *Wire) LoseBeforeCommit() { w.commit.Store(commitIsCut) }

// Passed returns what is closed when the next statement that contains the text has
// gone to the server. Those that its client sent before have been answered.
func (w *Wire) Passed(text string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.awaited[text] == nil {
		w.awaited[text] = make(chan struct{})
	}
	return w.awaited[text]
}

// notice tells who waits for the message.
func (w *Wire) notice(message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for text, passed := range w.awaited {
		if bytes.Contains(message, []byte(text)) {
			close(passed)
			delete(w.awaited, text)
		}
	}
}

// Lost is how many replies and COMMITs were lost.
func (w *Wire) Lost() int64 { return w.lost.Load() }

// Break breaks all connections that there are.
func (w *Wire) Break() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.lines {
		l.cut()
	}
}

// Refuse says whether new connections break at once. Those that there are go on.
func (w *Wire) Refuse(refuse bool) { w.refuses.Store(refuse) }

func (w *Wire) accept() {
	for {
		client, err := w.from.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				w.t.Errorf("storetest: accept: %v", err)
			}
			return
		}
		if w.refuses.Load() {
			_ = client.Close()
			continue
		}
		server, err := net.DialTimeout("tcp", w.server.Addr(), time.Second)
		if err != nil { // the server is down, which the client will see
			_ = client.Close()
			continue
		}
		l := &line{wire: w, client: client, server: server}
		if !w.hold(l) {
			return
		}
		w.running.Go(func() { l.requests(); w.drop(l) })
		w.running.Go(func() { l.replies(); w.drop(l) })
	}
}

// hold notes a connection, so that close finds it.
func (w *Wire) hold(l *line) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		l.cut()
		return false
	}
	w.lines[l] = struct{}{}
	return true
}

func (w *Wire) drop(l *line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.cut()
	delete(w.lines, l)
}

func (w *Wire) close() {
	_ = w.from.Close()
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.Break()
	w.running.Wait()
}
