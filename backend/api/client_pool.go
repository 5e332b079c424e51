package api

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// downFor is how long a server that couldn't be dialled is left alone: long
// enough that a dead one costs next to nothing, short enough that nobody notices
// its return.
const downFor = time.Second

// server is one address and its connections.
type server struct {
	addr     string
	pool     *fasthttp.HostClient // holds connections; requests don't go through its Do
	inFlight atomic.Int64
	downTill atomic.Int64 // Unix nanoseconds; 0: up
	closed   atomic.Bool
}

// dialError says that there is no connection, so that nothing was sent.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

func newServer(addr string, opt ClientOptions) *server {
	return &server{
		addr: addr,
		pool: &fasthttp.HostClient{
			Addr:                addr,
			MaxConns:            opt.MaxConns,
			MaxConnWaitTimeout:  opt.Timeout, // less where the call has less left
			MaxIdleConnDuration: opt.Idle,
			ConnPoolStrategy:    fasthttp.LIFO, // what a quiet hour doesn't need grows old and is closed
			ReadBufferSize:      8 << 10,       // also the longest head of an answer
			DialTimeout:         dialer(opt.DialTimeout),
		},
	}
}

// dialer returns a dial function bounded by longest, and by timeout if that is
// set and shorter: the pool passes 0 when it dials for a call that waits.
func dialer(longest time.Duration) fasthttp.DialFuncWithTimeout {
	return func(addr string, timeout time.Duration) (net.Conn, error) {
		if timeout <= 0 || timeout > longest {
			timeout = longest
		}
		conn, err := net.DialTimeout("tcp", addr, timeout)
		if err != nil {
			return nil, dialError{err}
		}
		return conn, nil
	}
}

func (s *server) close() {
	s.closed.Store(true)
	s.pool.CloseIdleConnections()
}

func (s *server) markUp() {
	if s.downTill.Load() != 0 {
		s.downTill.Store(0)
	}
}

func (s *server) markDown(now time.Time) { s.downTill.Store(now.Add(downFor).UnixNano()) }

// claim says that a call may go to s. When a mark runs out one call probes, and
// the mark stands for the others until that one knows better: a server that
// swallows packets shall hold up one buyer a second, not all of them.
func (s *server) claim(now time.Time) bool {
	till := s.downTill.Load()
	return till == 0 || till <= now.UnixNano() && s.downTill.CompareAndSwap(till, now.Add(downFor).UnixNano())
}

// pick returns the server with the fewest calls in flight among those not
// marked down, in turn among equals; nil if all are.
func (c *Client) pick(now time.Time) *server {
	for range c.servers {
		s := c.least(now.UnixNano())
		if s == nil || s.claim(now) {
			return s
		}
	}
	return nil
}

func (c *Client) least(now int64) *server {
	start := int(c.turn.Add(1) % uint32(len(c.servers))) //nolint:gosec // a handful of servers
	var best *server
	for i := range c.servers {
		s := c.servers[(start+i)%len(c.servers)]
		if s.downTill.Load() > now {
			continue
		}
		if best == nil || s.inFlight.Load() < best.inFlight.Load() {
			best = s
		}
	}
	return best
}
