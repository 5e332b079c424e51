package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// All connections of a server in use is no fault of the server: the call fails
// with nothing sent, and the next one goes there.
func TestAllConnectionsBusy(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			close(asked)
			<-release
		}
		sell(w)
	}))
	defer s.Close()
	c, err := NewClient(ClientOptions{Servers: []string{s.Listener.Addr().String()}, Keys: RandomKeys(), Timeout: time.Minute, MaxConns: 1, Idle: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	first := make(chan error, 1)
	go func() { first <- buy(t.Context(), c) }()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := buy(ctx, c); !errors.Is(err, ErrFailed) || errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want plain ErrFailed", err)
	}
	if got := requests.Load(); got != 1 {
		t.Errorf("%d requests while the one connection was taken", got)
	}

	waiting := make(chan error, 1)
	go func() { waiting <- buy(t.Context(), c) }()
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("the call that waited for the connection: %v", err)
	}
	if got := c.servers[0].pool.ConnsCount(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	n, _, c := newNetwork(t, one)
	addr, _ := startShop(t)
	n.route(one, to(addr))
	for range 5 {
		if err := buy(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	wantDials(t, n, one, 1)
}

// Whoever closes an idle connection first must be the client: closed by the
// server, it would take the next request with it.
func TestIdleConnectionsAreClosedByTheClient(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { sell(w) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(closed)
		}
	}
	s.Start()
	defer s.Close()
	c, err := NewClient(ClientOptions{Servers: []string{s.Listener.Addr().String()}, Keys: RandomKeys(), Timeout: time.Minute, Idle: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := buy(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	<-closed
}

func TestClosedClient(t *testing.T) {
	t.Parallel()
	n, _, c := newNetwork(t, one)
	addr, _ := startShop(t)
	n.route(one, to(addr))
	if err := buy(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Close()
	c.Close()
	if got := c.servers[0].pool.ConnsCount(); got != 0 {
		t.Errorf("%d connections are left", got)
	}
	if err := buy(t.Context(), c); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
}

// A call that is on its way when the client is closed gets its answer, and its
// connection isn't kept.
func TestCloseDuringACall(t *testing.T) {
	t.Parallel()
	n, _, c := newNetwork(t, one)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.Close()
		sell(w)
	}))
	defer s.Close()
	n.route(one, to(s.Listener.Addr().String()))
	if err := buy(t.Context(), c); err != nil {
		t.Error(err)
	}
	if got := c.servers[0].pool.ConnsCount(); got != 0 {
		t.Errorf("%d connections are left", got)
	}
}
