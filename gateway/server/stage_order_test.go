package server

import (
	"context"
	"fmt"
	"testing"

	"rushgate/backend/api"
	"rushgate/config"
	"rushgate/gateway/limit"
)

// fault is one thing that is wrong with a purchase, and who says so.
type fault struct {
	stage, reason string
	config        func(*config.Config)
	request       func(*request)
	setup         func(*gateway)
}

// faults stand in the order in which they must be found.
var faults = []fault{
	{stage: "head", reason: "bad_request", request: func(r *request) { r.fields = append(r.fields, "Host: other.test") }},
	{stage: "route", reason: "method_not_allowed", request: func(r *request) { r.method = "PUT" }},
	{stage: "address_list", reason: "blacklisted", config: func(c *config.Config) { c.Blacklist.IPs = []string{"127.0.0.1"} }},
	{stage: "ip_limit", reason: "limited_ip", config: func(c *config.Config) { c.Limits.IP.Exempt, c.Limits.IP.QPS = nil, 0 }},
	{stage: "item", reason: "no_such_item", request: func(r *request) { r.path = "/seckill/nope" }},
	{stage: "form", reason: "idempotency_key_missing", request: func(r *request) { r.key = "" }},
	{stage: "not_started", reason: "not_started", request: func(r *request) { r.path = "/seckill/early" }},
	{stage: "sold_out", reason: "sold_out", request: func(r *request) { r.path = "/seckill/out" }},
	{stage: "identity", reason: "unauthenticated", request: func(r *request) { r.user = "" }},
	{stage: "user_list", reason: "blacklisted", config: func(c *config.Config) { c.Blacklist.Users = []string{"u"} }},
	{stage: "user_limit", reason: "limited_user", config: func(c *config.Config) { c.Limits.User.QPS = 0 }},
	{stage: "item_limit", reason: "limited_item", config: func(c *config.Config) { c.Limits.Item.QPS = 0 }},
	{stage: "global_limit", reason: "limited_global", config: func(c *config.Config) { c.Limits.Global.QPS = 0 }},
	{stage: "admit", reason: "overloaded", setup: (*gateway).goDown},
}

// A purchase with every fault is refused for the first, one without that for the second,
// and so on: what is cheap and narrow comes first, and nobody who is refused
// spends what comes later.
func TestStageComesTooLate(t *testing.T) {
	t.Parallel()
	for i, want := range faults {
		t.Run(want.stage, func(t *testing.T) {
			t.Parallel()
			r := purchase("u")
			g := open(t, func(c *config.Config) {
				for _, f := range faults[i:] {
					if f.config != nil {
						f.config(c)
					}
				}
			})
			for j := len(faults) - 1; j >= i; j-- { // the earlier ones win
				if f := faults[j]; f.request != nil {
					f.request(&r)
				}
				if f := faults[j]; f.setup != nil {
					f.setup(g)
				}
			}
			a := g.send(r)
			if n := g.count("rushgate_refusals_total", want.reason, want.stage); n != 1 {
				t.Errorf("%d %s: not refused by stage %s", a.status, a.body, want.stage)
			}
			if len(g.orders.tickets) != 0 {
				t.Error("it reached the backend")
			}
		})
	}
}

// A repeat may be asking for what it has: the mark and the gateway's own clock
// refuse first tries only.
func TestRepeatIsRefusedWithoutAsking(t *testing.T) {
	g := open(t, nil)
	for path, reason := range map[string]string{"/seckill/out": "sold_out", "/seckill/early": "not_started"} {
		r := purchase("u")
		r.path = path
		for _, stage := range []string{reason, "admit"} {
			g.send(r)
			if n := g.count("rushgate_refusals_total", reason, stage); n != 1 {
				t.Errorf("%s, repeat %t: not refused by stage %s", path, r.retry, stage)
			}
			r.retry = true
		}
	}
}

// With the backend down no units are spent on nobody.
func TestDownBackendSpendsUnits(t *testing.T) {
	g := open(t, nil)
	g.goDown()
	for _, retry := range []bool{false, true} {
		r := purchase("u")
		r.retry = retry
		if a := g.send(r); a.member.Code != "overloaded" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if v, err := g.filter.View(t.Context(), "1001", false); err != nil || v.Stock != 5 {
		t.Errorf("%d units are left of 5, %v", v.Stock, err)
	}
}

// Whoever finds out that the backend is gone tells the purchases that follow.
func TestUnreachableBackendIsAskedAgain(t *testing.T) {
	gone := func(string, string) (api.Order, error) { return api.Order{}, api.ErrUnreachable }
	for _, r := range []request{with(get("/orders/1"), func(r *request) { r.user = "u" }), post("/orders/1/pay")} {
		g := build(t, nil) // not started: nobody renews the catalogue
		if err := g.catalogue.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.orders.get, g.orders.change = gone, gone
		g.handle(parsed(t, r))
		if g.catalogue.Up() {
			t.Errorf("%s reached nobody, and the backend counts as up", r.path)
		}
	}
}

// A flood by one user or address spends nothing that all share.
func TestFloodOfOneUsesUpTheItem(t *testing.T) {
	unknown := func(g *gateway) {
		g.orders.place = func(context.Context, api.Ticket) (api.Order, error) { return api.Order{}, api.ErrUnknown }
	}
	shared := func(c *config.Config) {
		c.Limits.Items["1001"] = config.Rate{QPS: 1e-6, Burst: 3}
		c.Limits.Global.QPS, c.Limits.Global.Burst = 1e-6, 3
	}
	t.Run("user", func(t *testing.T) {
		g := open(t, func(c *config.Config) {
			shared(c)
			c.Limits.User = rare
		})
		unknown(g)
		g.flood(t, purchase("greedy"), "user")
		g.sharedTokens(t, 2)
	})
	t.Run("address", func(t *testing.T) {
		g := open(t, func(c *config.Config) {
			shared(c)
			c.Limits.IP.QPS, c.Limits.IP.Burst = rare.QPS, rare.Burst
			c.Identity.Trusted = append(c.Identity.Trusted, "192.0.2.1")
		})
		unknown(g)
		r := purchase("greedy")
		r.peer = "192.0.2.1"
		g.flood(t, r, "ip")
		g.sharedTokens(t, 2)
	})
}

// flood sends a hundred, of which the first passes every limit and the others
// none of this scope.
func (g *gateway) flood(t *testing.T, r request, scope string) {
	t.Helper()
	for i := range 100 {
		r.key = fmt.Sprint("key", i)
		if a := g.send(r); (i == 0) != (a.member.Code == "unknown_outcome") || i > 0 && a.member.Scope != scope {
			t.Fatalf("request %d: %d %s", i, a.status, a.body)
		}
	}
}

// sharedTokens are still there for so many others, and no more.
func (g *gateway) sharedTokens(t *testing.T, n int) {
	t.Helper()
	for i := range n + 1 {
		if a := g.send(purchase(fmt.Sprint("other", i))); (i < n) != (a.member.Code == "unknown_outcome") {
			t.Errorf("other %d of %d: %d %s", i+1, n, a.status, a.body)
		}
	}
}

// Names that somebody makes up leave nothing behind.
func TestUnknownItemsFillTheTables(t *testing.T) {
	g := open(t, generous)
	for i := range 1000 {
		r := purchase(fmt.Sprint("u", i))
		r.path = fmt.Sprint("/seckill/item", i)
		if a := g.send(r); a.member.Code != "no_such_item" {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if n, m := g.limits.items.(*limit.Items).Len(), g.limits.user.Len(); n != 0 || m != 0 {
		t.Errorf("%d items and %d users have a bucket", n, m)
	}
}
