package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// lingerFor is how long the rest of a request that was answered early is read
// and thrown away.
const lingerFor = time.Second

var errOverBudget = errors.New("the request is over its budget of bytes")

// Guard returns a listener whose connections count the bytes of each request:
// a head and a body of the bounds' sizes, twice over, for chunk framing and for
// what has been read of the next request. Chunk extensions, which fasthttp
// throws away without counting, end there. It counts the connections too, and
// answers one beyond Bounds.Concurrency with Bounds.Full.
//
// Under TLS give it the TLS listener, so that what is counted is HTTP; fasthttp's
// RequestCtx.IsTLS is false then, as it looks at the connection's type.
func Guard(ln net.Listener, b Bounds) net.Listener {
	b = b.withDefaults()
	budget := func() int { return 2 * (b.HeaderBytes + b.BodyNow()) }
	return &guard{Listener: ln, budget: budget, most: int64(b.Concurrency), full: b.Full}
}

type guard struct {
	net.Listener
	budget func() int // of a request that begins now
	most   int64      // connections at a time
	full   []byte
	open   atomic.Int64
}

func (g *guard) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.open.Add(1) <= g.most {
			return &boundConn{Conn: c, guard: g}, nil
		}
		g.open.Add(-1)
		g.turnAway(c)
	}
}

// turnAway answers a connection that is one too many, before anything is read
// from it. The answer fits into the socket's buffer, so nobody waits for it.
func (g *guard) turnAway(c net.Conn) {
	if c.SetWriteDeadline(time.Now().Add(lingerFor)) == nil {
		_, _ = c.Write(g.full)
	}
	_ = c.Close()
}

// boundConn remembers of the request being read what fasthttp's errors do not
// tell. Its fields belong to the goroutine that serves the connection.
type boundConn struct {
	net.Conn
	guard    *guard
	closed   atomic.Bool // its place is free again
	begun    bool        // a byte of this request has come
	left     int         // bytes that this request may still take
	lineRead bool        // the request line has ended
	late     bool        // a read ran into its deadline
	linger   bool        // the answer goes out before the request was read
}

// nextRequest begins to count anew. What was read of a pipelined request
// already has been counted with the one before.
func (c *boundConn) nextRequest() { c.begun, c.lineRead, c.late = false, false, false }

func (c *boundConn) spent() bool { return c.begun && c.left <= 0 }

func (c *boundConn) Read(p []byte) (int, error) {
	if c.spent() {
		return 0, errOverBudget
	}
	if c.begun {
		p = p[:min(len(p), c.left)]
	}
	n, err := c.Conn.Read(p)
	if !c.begun { // not before: an idle connection may wait here across a change of the bounds
		c.begun, c.left = true, c.guard.budget()
	}
	c.left -= n
	if !c.lineRead {
		// Empty lines before the request line do not count (RFC 9112 section 2.2).
		c.lineRead = bytes.IndexByte(bytes.TrimLeft(p[:n], "\r\n"), '\n') >= 0
	}
	c.late = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// Close lets a client that is still sending read the answer first. Closing
// with unread bytes resets the connection, and the client's system then drops
// the answer that it has not handed over yet (RFC 9112 section 9.6).
func (c *boundConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		defer c.guard.open.Add(-1)
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); c.linger && ok && half.CloseWrite() == nil {
		if c.Conn.SetReadDeadline(time.Now().Add(lingerFor)) == nil {
			_, _ = io.Copy(io.Discard, c.Conn) // ends with the client's end, or the deadline
		}
	}
	return c.Conn.Close()
}
