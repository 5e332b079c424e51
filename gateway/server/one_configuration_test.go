package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"rushgate/backend/api"
	"rushgate/config"
	"rushgate/gateway/limit"
)

// turnstile is a limit that holds each request until it is told to let it go.
type turnstile struct{ came, leave chan struct{} }

func newTurnstile() *turnstile { return &turnstile{make(chan struct{}), make(chan struct{})} }

func (s *turnstile) Allow(time.Time) limit.Decision {
	s.came <- struct{}{}
	<-s.leave
	return limit.Decision{OK: true}
}

func (s *turnstile) Set(time.Time, limit.Rate) {}

// patient gives a purchase, and its ticket, an hour.
func patient(c *config.Config) {
	c.Tickets.Window = config.Duration(time.Hour)
	c.Upstreams["backend"] = config.Upstream{Embedded: true, Timeout: config.Duration(time.Hour)}
}

// A request that is between two stages when the configuration changes goes on
// under the one it began with.
func TestRequestSeesTwoConfigurations(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer shop.Close()
	for name, tt := range map[string]struct {
		ask           request
		status, after int
		code          string
	}{
		"route is removed": {get("/shop/"), 200, 404, "no_route"},
		"buyer is blocked": {purchase("u"), 201, 403, "blacklisted"},
	} {
		t.Run(name, func(t *testing.T) {
			gate := newTurnstile()
			g := build(t, func(c *config.Config) {
				to(strings.TrimPrefix(shop.URL, "http://"), patience)(c)
				patient(c)
			}, func(o *Options) { o.Global = gate })
			g.run(t)
			g.orders.place = func(_ context.Context, k api.Ticket) (api.Order, error) {
				if left := time.Until(time.UnixMilli(k.Exp)); left < time.Minute {
					t.Errorf("the ticket has the window of the next configuration, %v", left)
				}
				return api.Order{OrderID: "77", BizID: k.BizID}, nil
			}
			c := g.dial("")
			defer c.Close()
			got := make(chan answer, 1)
			go func() { got <- c.ask(tt.ask.method, tt.ask.text()) }()
			<-gate.came
			g.reload(func(c *config.Config) {
				c.Routes, c.Upstreams = nil, map[string]config.Upstream{"backend": c.Upstreams["backend"]}
				c.Tickets.Window = config.Duration(time.Millisecond)
				c.Blacklist.Users = []string{"u"}
			})
			gate.leave <- struct{}{}
			if a := <-got; a.status != tt.status {
				t.Errorf("under way: %d %s, want %d", a.status, a.body, tt.status)
			}
			if a := c.ask(tt.ask.method, tt.ask.text()); a.status != tt.after || a.member.Code != tt.code {
				t.Errorf("the next on its connection: %d %s, want %d %s", a.status, a.body, tt.after, tt.code)
			}
		})
	}
}

// The next purchase has the waits of the new configuration.
func TestPurchaseKeepsTheOldWindow(t *testing.T) {
	g := open(t, patient)
	left := make(chan time.Duration, 1)
	g.orders.place = func(_ context.Context, k api.Ticket) (api.Order, error) {
		left <- time.Until(time.UnixMilli(k.Exp))
		return api.Order{OrderID: "77", BizID: k.BizID}, nil
	}
	g.send(purchase("u"))
	if got := <-left; got < time.Minute {
		t.Errorf("%v, want about an hour", got)
	}
	g.reload(func(c *config.Config) { c.Tickets.Window = config.Duration(time.Second) })
	g.send(purchase("v"))
	if got := <-left; got > time.Second {
		t.Errorf("%v, want a second at most", got)
	}
}

// An upstream that is not there any more holds no connections.
func TestRemovedUpstreamStaysConnected(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer shop.Close()
	g := open(t, to(strings.TrimPrefix(shop.URL, "http://"), patience))
	old := g.policy.Load().upstreams
	for _, change := range []func(*config.Config){
		func(c *config.Config) { c.Limits.User.QPS = 7 }, // nothing of the upstream's
		func(c *config.Config) {
			c.Routes, c.Upstreams = nil, map[string]config.Upstream{"backend": c.Upstreams["backend"]}
		},
	} {
		if a := g.send(get("/shop/")); a.status != 200 || old.Conns() != 1 {
			t.Fatalf("%d %s, %d connections", a.status, a.body, old.Conns())
		}
		g.reload(change)
	}
	if n := old.Conns(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// A thousand reloads register nothing, and leave nothing of the thousand
// configurations behind.
func TestReloadsPileUp(t *testing.T) {
	g := open(t, nil)
	families := func() int {
		all, err := g.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	g.send(purchase("u")) // a vector in which nobody has counted yet is not there
	g.send(get("/nope"))
	before := families()
	var policies []weak.Pointer[policy]
	for i := range 1000 {
		policies = append(policies, weak.Make(g.policy.Load()))
		g.reload(func(c *config.Config) {
			to("127.0.0.1:1", time.Duration(i+1)*time.Second)(c)
			c.Breaker.Window = config.Duration(time.Duration(i+1) * time.Second)
			c.Limits.User.Burst = 5 + i%2
		})
		if i%100 == 0 {
			g.send(purchase("u"))
		}
	}
	if n := families(); n != before {
		t.Errorf("%d metrics, before %d", n, before)
	}
	runtime.GC()
	left := 0
	for _, p := range policies {
		if p.Value() != nil {
			left++
		}
	}
	if left > 0 {
		t.Errorf("%d of 1000 configurations are still there", left)
	}
}
