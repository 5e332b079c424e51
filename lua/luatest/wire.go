package luatest

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Endpoint is something that listens: a [Server], or a [Wire] that leads to one.
type Endpoint interface {
	Addr() string // host:port
}

// Wire lies between clients and a server and has the faults of a network. It starts
// without any; faults add up, and its methods may be called at any time by any
// goroutine. It doesn't look into what it carries, so TLS passes.
type Wire struct {
	t       testing.TB
	from    net.Listener
	running sync.WaitGroup

	lost, held, swallowed atomic.Int64

	mu     sync.Mutex
	faults faults
	moved  chan struct{} // closed at the next change of the faults
	links  map[*link]struct{}
	ended  bool
}

// NewWire opens a wire to a server, or to another wire. It ends with the test.
func NewWire(t testing.TB, to Endpoint) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("luatest: open a wire: %v", err)
	}
	w := &Wire{t: t, from: l, faults: faults{to: to.Addr()}, moved: make(chan struct{}), links: make(map[*link]struct{})}
	w.running.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// Addr is where clients connect to, host:port.
func (w *Wire) Addr() string { return w.from.Addr().String() }

func (w *Wire) accept() {
	for {
		client, err := w.from.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				w.t.Errorf("luatest: accept: %v", err)
			}
			return
		}
		w.running.Go(func() { w.carry(client) })
	}
}

// carry serves one connection until it is cut.
func (w *Wire) carry(client net.Conn) {
	l := &link{wire: w, client: client, gone: make(chan struct{}), replies: make(chan reply, replyRoom)}
	f, ok := w.enter(l)
	if !ok {
		_ = client.Close()
		return
	}
	defer w.cut(l)
	if !f.swallowing {
		server, err := net.DialTimeout("tcp", f.to, time.Second)
		if err != nil { // the server is down, which the client will see
			return
		}
		if !w.join(l, server, f.to) {
			_ = server.Close()
			return
		}
		w.running.Go(l.takeReplies)
		w.running.Go(l.giveReplies)
	}
	l.takeRequests()
}

// enter notes a new connection, unless there may be none.
func (w *Wire) enter(l *link) (faults, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.faults.refusing {
		return faults{}, false
	}
	l.holed = w.faults.swallowing
	w.links[l] = struct{}{}
	return w.faults, true
}

// join gives a connection its other end, unless it was cut or the wire leads
// elsewhere by now.
func (w *Wire) join(l *link, server net.Conn, to string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.links[l]; !there || w.faults.to != to {
		return false
	}
	l.server = server
	return true
}

// cut ends a connection, at both ends.
func (w *Wire) cut(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutLocked(l)
}

func (w *Wire) cutLocked(l *link) {
	if _, there := w.links[l]; !there {
		return
	}
	delete(w.links, l)
	close(l.gone)
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

func (w *Wire) close() {
	_ = w.from.Close()
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.Cut()
	w.running.Wait()
}
