package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/backend/api"
)

// TestMain holds that nothing of a Client outlives its Close, but fasthttp's
// cleaner of idle connections: it sleeps for ClientOptions.Idle at most and then
// finds nothing left to clean.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"))
}

// peer is a server down to the bytes, so that it can misbehave in every way.
type peer struct {
	addr     string
	requests atomic.Int32  // that came whole
	conns    atomic.Int32  // accepted
	gone     chan struct{} // closed when the test is over
}

// script answers request n, counted from 1, and says whether the connection
// stays open.
type script func(conn net.Conn, n int, r *http.Request) (open bool)

func startPeer(t *testing.T, act script) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{addr: listener.Addr().String(), gone: make(chan struct{})}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		close(p.gone)
		_ = listener.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.conns.Add(1)
			stop := make(chan struct{})
			wg.Go(func() {
				select {
				case <-p.gone:
				case <-stop:
				}
				_ = conn.Close()
			})
			wg.Go(func() {
				defer close(stop)
				p.serve(conn, act)
			})
		}
	})
	return p
}

func (p *peer) serve(conn net.Conn, act script) {
	reader := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !act(conn, int(p.requests.Add(1)), r) {
			return
		}
	}
}

// write sends bytes as they are.
func write(conn net.Conn, text string) { _, _ = io.WriteString(conn, text) }

// answer sends a well-formed answer with this body.
func answer(conn net.Conn, status int, body string) {
	write(conn, fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), len(body), body))
}

// refusedAddr returns an address at which nobody listens.
func refusedAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// newClient returns a client that waits for longer than any test runs: what
// ends a call is what the test says.
func newClient(t *testing.T, servers ...string) *api.Client {
	t.Helper()
	return newClientOf(t, api.ClientOptions{Servers: servers, Timeout: time.Minute, Idle: time.Hour})
}

func newClientOf(t *testing.T, opt api.ClientOptions) *api.Client {
	t.Helper()
	opt.Keys = newKeys(t, api.Key{ID: "k1", Secret: secretA})
	c, err := api.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// call is one of the contract's calls, and what a good server answers to it.
type call struct {
	name   string
	writes bool
	status int
	order  api.Order // of a good answer
	do     func(ctx context.Context, o api.Orders) (api.Order, error)
}

func calls() []call {
	ticket := aTicket()
	placed := api.Order{
		OrderID: "77", BizID: ticket.BizID, Item: ticket.Item, User: ticket.User, Qty: ticket.Qty,
		AmountCents: 990, State: api.StateCreated, CreatedAt: 1, PayBy: 2,
	}
	return []call{
		{"place", true, 201, placed, func(ctx context.Context, o api.Orders) (api.Order, error) { return o.Place(ctx, ticket) }},
		{"refuse", true, 201, placed, func(ctx context.Context, o api.Orders) (api.Order, error) {
			ticket := ticket
			ticket.Path = api.PathRefuse
			return o.Refuse(ctx, ticket, api.SoldOut)
		}},
		{"pay", true, 200, placed, func(ctx context.Context, o api.Orders) (api.Order, error) { return o.Pay(ctx, ticket.User, "77") }},
		{"cancel", true, 200, placed, func(ctx context.Context, o api.Orders) (api.Order, error) { return o.Cancel(ctx, ticket.User, "77") }},
		{"find", false, 200, placed, func(ctx context.Context, o api.Orders) (api.Order, error) {
			return o.Find(ctx, ticket.User, ticket.BizID)
		}},
		{"get", false, 200, placed, func(ctx context.Context, o api.Orders) (api.Order, error) { return o.Get(ctx, ticket.User, "77") }},
	}
}

func (c call) body() string { return text(c.order) }

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
