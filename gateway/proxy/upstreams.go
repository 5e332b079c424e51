package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Three ways in which a request gets no answer. After ErrUnreachable nothing
// was done and trying again is safe. After the other two a request that changes
// something may have changed it: its outcome is unknown.
var (
	// ErrUnreachable: no byte was sent.
	ErrUnreachable = errors.New("no upstream server was reached")
	// ErrBusy: no byte was sent, because every allowed connection is in use. It
	// wraps ErrUnreachable.
	ErrBusy = fmt.Errorf("every connection to the upstream is in use: %w", ErrUnreachable)
	// ErrTimeout: sent, in whole or in part, and not answered in time.
	ErrTimeout = errors.New("the upstream did not answer in time")
	// ErrBroken: sent, in whole or in part, and the answer is missing, cut,
	// ambiguous or too large.
	ErrBroken = errors.New("the upstream's answer is no whole HTTP response")

	errDial = fmt.Errorf("cannot connect: %w", ErrUnreachable)
)

// downFor is how long a server that refused a connection is asked only if no
// other is left.
const downFor = time.Second

// Options describe one upstream, a group of servers that are alike. Zero fields
// take the defaults below.
type Options struct {
	Servers  []string      // host:port, plain HTTP
	Timeout  time.Duration // from the first byte sent to the last received; default 3s
	Dial     time.Duration // to connect to one server; default 1s
	Idle     time.Duration // an unused connection is retired; default 4s, less than the 5s after which Node.js closes its end
	Age      time.Duration // any connection is retired, so that changes of DNS are followed; default 1m
	MaxConns int           // to each server; more requests are ErrBusy at once; default 512
	MaxBody  int           // bytes of a response's body; default 8 MiB
	MaxHead  int           // bytes of a response's head; default 16 KiB
}

// same says that two options mean the same.
func (o Options) same(p Options) bool {
	a, b := o, p
	a.Servers, b.Servers = nil, nil
	return slices.Equal(o.Servers, p.Servers) && reflect.DeepEqual(a, b)
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 3*time.Second)
	o.Dial = cmp.Or(o.Dial, time.Second)
	o.Idle = cmp.Or(o.Idle, 4*time.Second)
	o.Age = cmp.Or(o.Age, time.Minute)
	o.MaxConns = cmp.Or(o.MaxConns, 512)
	o.MaxBody = cmp.Or(o.MaxBody, 8<<20)
	o.MaxHead = cmp.Or(o.MaxHead, 16<<10)
	return o
}

// exchange sends the request once. Only if a server could not be connected to,
// so that it has certainly seen nothing, is one other server tried.
func (g *group) exchange(x *trip) error {
	var tried *server
	var err error
	for range 2 {
		s := pick(g.servers, g.turn.Add(1), g.now(), tried)
		if s == nil {
			break
		}
		if err = s.exchange(x); !errors.Is(err, errDial) {
			return err
		}
		s.downUntil.Store(g.now().Add(downFor).UnixNano())
		tried = s
	}
	return err
}

// pick returns the server with the fewest requests in flight among those that
// are not down; if all are, among all: it may be up again, and nothing is lost
// by asking. It never returns not, and nil if there is no other.
func pick(servers []*server, turn uint32, now time.Time, not *server) *server {
	var up, down *server
	for i := range servers {
		s := servers[(turn+uint32(i))%uint32(len(servers))] //nolint:gosec // a handful of servers
		switch {
		case s == not:
		case s.downUntil.Load() > now.UnixNano():
			down = idler(down, s)
		default:
			up = idler(up, s)
		}
	}
	return cmp.Or(up, down)
}

func idler(a, b *server) *server {
	if a == nil || b.inFlight.Load() < a.inFlight.Load() {
		return b
	}
	return a
}

// server is one address and its connections.
type server struct {
	pool      *fasthttp.HostClient // only its pool is used, never Do: see exchange
	o         Options
	inFlight  atomic.Int64
	downUntil atomic.Int64 // Unix nanoseconds
	retired   atomic.Bool  // no connection is kept after its answer
}

// newServer makes a server that nothing was sent to yet. The pool's settings
// that concern HostClient.Do are of no effect and left alone.
func newServer(addr string, o Options) *server {
	dialer := &net.Dialer{Timeout: o.Dial}
	return &server{o: o, pool: &fasthttp.HostClient{
		Addr: addr,
		// fasthttp's own dialer takes IPv4 only and caches names for a minute.
		DialTimeout: func(addr string, _ time.Duration) (net.Conn, error) { return dialer.Dial("tcp", addr) },
		// Bounded, and without waiting for a free one: a queue here would be
		// spent on clients that have gone.
		MaxConns: o.MaxConns,
		// The connection used last is used first: a quiet pool shrinks.
		ConnPoolStrategy:    fasthttp.LIFO,
		MaxIdleConnDuration: o.Idle,
		ReadBufferSize:      o.MaxHead, // the reader's buffer bounds a head
	}}
}
