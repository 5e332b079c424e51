package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rushgate/backend/api"
	"rushgate/config"
)

// A purchase under way is finished and answered; whoever keeps a connection open
// holds up nobody.
func TestShutdownCutsPurchasesOff(t *testing.T) {
	g := build(t, nil)
	placing, settled := make(chan struct{}), make(chan struct{})
	g.orders.place = func(_ context.Context, k api.Ticket) (api.Order, error) {
		close(placing)
		<-settled
		return api.Order{OrderID: "77", User: k.User}, nil
	}
	g.Start(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(g.ln) }()
	idle := g.dial("")
	defer idle.Close()
	if a := idle.ask("GET", "GET /items HTTP/1.1\r\nHost: a\r\n\r\n"); a.status != 200 {
		t.Fatal(a.body)
	}
	bought := make(chan answer, 1)
	go func() { bought <- g.send(purchase("u")) }()
	<-placing
	down := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		down <- g.Shutdown(ctx)
	}()
	if err := <-served; err != nil { // the listener is closed: nobody new
		t.Errorf("serving: %v", err)
	}
	close(settled)
	if a := <-bought; a.status != 201 {
		t.Errorf("the purchase under way: %d %s", a.status, a.body)
	}
	if err := <-down; err != nil {
		t.Errorf("shutting down: %v", err)
	}
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection stays open")
	}
}

// What does not end is given up when the time to drain is over: a buyer hears
// that nobody knows, whoever only looked something up that it was not found out.
func TestShutdownWaitsForEver(t *testing.T) {
	g := build(t, func(c *config.Config) {
		u := c.Upstreams["backend"]
		u.Timeout = config.Duration(time.Hour)
		c.Upstreams["backend"] = u
	})
	asked := make(chan struct{}, 2)
	hang := func(ctx context.Context) error {
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	g.orders.place = func(ctx context.Context, _ api.Ticket) (api.Order, error) { return api.Order{}, hang(ctx) }
	g.orders.find = func(ctx context.Context) (api.Order, error) { return api.Order{}, hang(ctx) }
	g.Start(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(g.ln) }()
	bought, found := make(chan answer, 1), make(chan answer, 1)
	go func() { bought <- g.send(purchase("u")) }()
	go func() { found <- g.send(with(get("/orders?biz_id=b"), func(r *request) { r.user = "u" })) }()
	<-asked
	<-asked
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Shutdown(over); err == nil {
		t.Error("shut down, with requests under way")
	}
	if a := <-bought; a.member.Code != "unknown_outcome" {
		t.Errorf("the purchase: %d %s", a.status, a.body)
	}
	if a := <-found; a.member.Code != "overloaded" {
		t.Errorf("the look-up: %d %s", a.status, a.body)
	}
	<-served
}

// What cannot be honoured is said at the start, with the name of the key.
func TestBustedListsAreIgnored(t *testing.T) {
	for word, change := range map[string]func(*config.Config){
		"trusted_proxies[0]": func(c *config.Config) { c.TrustedProxies = []config.TrustedProxy{{CIDR: "nonsense", Hops: 1}} },
		"hops":               func(c *config.Config) { c.TrustedProxies = []config.TrustedProxy{{CIDR: "10.0.0.0/8"}} },
		"identity.trusted":   func(c *config.Config) { c.Identity.Trusted = []string{"10.0.0.0/33"} },
		"blacklist":          func(c *config.Config) { c.Blacklist.IPs = []string{"x"} },
		"no such file":       func(c *config.Config) { c.Blacklist.File = "/nonexistent/list" },
		"limits.ip.exempt":   func(c *config.Config) { c.Limits.IP.Exempt = []string{"x"} },
		"route":              func(c *config.Config) { c.Routes = []config.Route{{Path: "shop", Upstream: "shop"}} },
		"upstream shop":      func(c *config.Config) { c.Upstreams["shop"] = config.Upstream{} },
	} {
		c := config.Default()
		change(&c)
		_, err := New(Options{Config: c, Orders: &orders{}, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want an error about %s", err, word)
		}
	}
}
