package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// network stands between a client and its servers, and says which of them can be
// dialled.
type network struct {
	mu    sync.Mutex
	dials map[string]int
	dial  map[string]func(timeout time.Duration) (net.Conn, error)
}

var errNoRoute = errors.New("no route to host")

func noRoute(time.Duration) (net.Conn, error) { return nil, dialError{errNoRoute} }

// swallow is a dial whose packets nobody answers. It does not wait: the timeout
// it was given is over at once for want of patience.
func swallow(time.Duration) (net.Conn, error) {
	return nil, dialError{context.DeadlineExceeded}
}

func to(addr string) func(time.Duration) (net.Conn, error) {
	return func(timeout time.Duration) (net.Conn, error) { return net.DialTimeout("tcp", addr, timeout) }
}

func (n *network) connect(addr string, timeout time.Duration) (net.Conn, error) {
	n.mu.Lock()
	n.dials[addr]++
	dial := n.dial[addr]
	n.mu.Unlock()
	return dial(timeout)
}

func (n *network) route(addr string, dial func(time.Duration) (net.Conn, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dial[addr] = dial
}

// dialled returns how often addr was dialled since it was asked last.
func (n *network) dialled(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer delete(n.dials, addr)
	return n.dials[addr]
}

// clock is time that passes when it is told to.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.nanos.Load()) }

func (c *clock) pass(d time.Duration) { c.nanos.Add(int64(d)) }

const one, two = "one.test:80", "two.test:80"

func newNetwork(t *testing.T, servers ...string) (*network, *clock, *Client) {
	t.Helper()
	n := &network{dials: map[string]int{}, dial: map[string]func(time.Duration) (net.Conn, error){}}
	clk := &clock{}
	clk.pass(time.Hour)
	c, err := NewClient(ClientOptions{Servers: servers, Keys: RandomKeys(), Timeout: time.Minute, Idle: time.Hour, Now: clk.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, s := range c.servers {
		s.pool.DialTimeout = n.connect
		n.route(s.addr, noRoute)
	}
	return n, clk, c
}

// sell answers a purchase of buy's.
func sell(w http.ResponseWriter) {
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"order_id":"1","item":"i","user":"u","biz_id":"b","qty":1,"state":"created"}`)
}

// startShop answers every purchase with an order for it.
func startShop(t *testing.T) (addr string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		sell(w)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), requests
}

func buy(ctx context.Context, c *Client) error {
	_, err := c.Place(ctx, Ticket{Item: "i", User: "u", BizID: "b", Qty: 1, Path: PathDB, Exp: 1})
	return err
}

func wantDials(t *testing.T, n *network, addr string, want int) {
	t.Helper()
	if got := n.dialled(addr); got != want {
		t.Errorf("%s was dialled %d times, want %d", addr, got, want)
	}
}

func wantUnreachable(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
}

func TestOneServerDown(t *testing.T) {
	t.Parallel()
	n, clk, c := newNetwork(t, one, two)
	addr, requests := startShop(t)
	n.route(two, to(addr))

	for range 4 {
		if err := buy(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if got := requests.Load(); got != 4 {
		t.Errorf("4 purchases made %d requests", got)
	}
	wantDials(t, n, one, 1) // then it is left alone

	clk.pass(downFor)
	for range 4 {
		if err := buy(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	wantDials(t, n, one, 1) // one more look
}

func TestAllServersDown(t *testing.T) {
	t.Parallel()
	n, clk, c := newNetwork(t, one, two)
	err := buy(t.Context(), c)
	wantUnreachable(t, err)
	if !errors.Is(err, errNoRoute) {
		t.Errorf("%v doesn't say why", err)
	}
	wantDials(t, n, one, 1)
	wantDials(t, n, two, 1)

	wantUnreachable(t, buy(t.Context(), c))
	_, err = c.Find(t.Context(), "u", "b")
	wantUnreachable(t, err)
	wantDials(t, n, one, 0)
	wantDials(t, n, two, 0)

	addr, _ := startShop(t)
	n.route(one, to(addr))
	clk.pass(downFor)
	for range 3 {
		if err := buy(t.Context(), c); err != nil {
			t.Fatalf("after its return: %v", err)
		}
	}
}

// While one call looks whether a server is back, the others don't wait for what
// it finds.
func TestOneCallProbes(t *testing.T) {
	t.Parallel()
	n, clk, c := newNetwork(t, one)
	wantUnreachable(t, buy(t.Context(), c))
	clk.pass(downFor)

	dialling, found := make(chan struct{}), make(chan struct{})
	n.route(one, func(time.Duration) (net.Conn, error) {
		close(dialling)
		<-found
		return noRoute(0)
	})
	probe := make(chan error, 1)
	go func() { probe <- buy(t.Context(), c) }()
	<-dialling
	wantUnreachable(t, buy(t.Context(), c))
	close(found)
	wantUnreachable(t, <-probe)
	wantDials(t, n, one, 2)
}

// A caller without patience proves nothing about the server, and sends nothing.
func TestDialCutShortByTheCaller(t *testing.T) {
	t.Parallel()
	n, _, c := newNetwork(t, one)
	ctx, cancel := context.WithCancel(t.Context())
	n.route(one, func(time.Duration) (net.Conn, error) {
		cancel()
		return swallow(0)
	})
	err := buy(ctx, c)
	if !errors.Is(err, ErrFailed) || errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want plain ErrFailed", err)
	}

	addr, _ := startShop(t)
	n.route(one, to(addr))
	if err := buy(t.Context(), c); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// A connection that comes too late for its call is kept for the next one.
func TestGivenUpWhileDialling(t *testing.T) {
	t.Parallel()
	n, _, c := newNetwork(t, one)
	addr, requests := startShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	n.route(one, func(timeout time.Duration) (net.Conn, error) {
		cancel()
		return to(addr)(timeout)
	})
	if err := buy(ctx, c); !errors.Is(err, ErrFailed) || errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want plain ErrFailed", err)
	}
	if got := requests.Load(); got != 0 {
		t.Errorf("%d requests were sent", got)
	}
	if err := buy(t.Context(), c); err != nil {
		t.Error(err)
	}
	wantDials(t, n, one, 1)
}

func TestDialTimesOut(t *testing.T) {
	t.Parallel()
	n, _, c := newNetwork(t, one)
	n.route(one, swallow)
	wantUnreachable(t, buy(t.Context(), c))
}

// The dial ends with the call, even where the pool would give it longer.
func TestDialIsBoundedByTheCall(t *testing.T) {
	t.Parallel()
	n, _, c := newNetwork(t, one)
	given := make(chan time.Duration, 1)
	n.route(one, func(timeout time.Duration) (net.Conn, error) {
		given <- timeout
		return noRoute(0)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	wantUnreachable(t, buy(ctx, c))
	if got := <-given; got <= 0 || got > 10*time.Second {
		t.Errorf("dialled with a timeout of %v", got)
	}
}

func TestCallsGoWhereTheFewestAre(t *testing.T) {
	t.Parallel()
	_, _, c := newNetwork(t, one, two)
	c.servers[0].inFlight.Add(3)
	for range 4 {
		if s := c.pick(c.now()); s != c.servers[1] {
			t.Errorf("picked %s", s.addr)
		}
	}
	c.servers[1].inFlight.Add(3)
	seen := map[string]int{}
	for range 4 {
		seen[c.pick(c.now()).addr]++
	}
	if seen[one] != 2 || seen[two] != 2 {
		t.Errorf("equals were picked %v times, want in turn", seen)
	}
}
