package luatest

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Wire lies between clients and a server and can lose what the server answers.
type Wire struct {
	t       testing.TB
	to      string
	from    net.Listener
	losing  atomic.Bool
	lost    atomic.Int64
	running sync.WaitGroup

	mu    sync.Mutex
	ends  map[net.Conn]struct{} // both ends of every connection
	ended bool
}

// NewWire opens a wire to the server. It ends with the test.
func NewWire(t testing.TB, s *Server) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("luatest: open a wire: %v", err)
	}
	w := &Wire{t: t, to: s.addr, from: l, ends: make(map[net.Conn]struct{})}
	w.running.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// Addr is where clients connect to, host:port.
func (w *Wire) Addr() string { return w.from.Addr().String() }

// LoseReplies says whether replies get lost from now on: a request still reaches
// the server and is executed, and the connection breaks in place of the reply.
func (w *Wire) LoseReplies(lose bool) { w.losing.Store(lose) }

// Lost is how many replies were lost.
func (w *Wire) Lost() int64 { return w.lost.Load() }

func (w *Wire) accept() {
	for {
		client, err := w.from.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				w.t.Errorf("luatest: accept: %v", err)
			}
			return
		}
		server, err := net.DialTimeout("tcp", w.to, time.Second)
		if err != nil { // the server is down, which the client will see
			_ = client.Close()
			continue
		}
		if !w.hold(client, server) {
			return
		}
		w.running.Go(func() { // requests
			_, _ = io.Copy(server, client)
			w.drop(client, server)
		})
		w.running.Go(func() { // replies
			_, _ = io.Copy(lossy{w, client}, server)
			w.drop(client, server)
		})
	}
}

// hold notes the ends of a connection, so that close finds them.
func (w *Wire) hold(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range ends {
		if w.ended {
			_ = end.Close()
		}
		w.ends[end] = struct{}{}
	}
	return !w.ended
}

func (w *Wire) drop(ends ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range ends {
		_ = end.Close()
		delete(w.ends, end)
	}
}

func (w *Wire) close() {
	_ = w.from.Close()
	w.mu.Lock()
	w.ended = true
	for end := range w.ends {
		_ = end.Close()
	}
	w.mu.Unlock()
	w.running.Wait()
}

// lossy hands replies on, or breaks off with the first that is lost.
type lossy struct {
	wire *Wire
	to   net.Conn
}

var errLost = errors.New("reply lost")

func (l lossy) Write(b []byte) (int, error) {
	if l.wire.losing.Load() {
		l.wire.lost.Add(1)
		return 0, errLost
	}
	return l.to.Write(b)
}
