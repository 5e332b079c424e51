package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/config"
)

func TestLive(t *testing.T) {
	for path, want := range map[string]bool{
		"limits.ip.qps": true, "limits.ip.exempt": true, "limits.ip.exempt[0]": true, "limits.ip.ipv6_prefix": true,
		"limits.user.burst": true, "limits.item.qps": true, "limits.items": true, "limits.items.1001.qps": true, "limits.items.1001": true,
		"limits.global.burst": true, "limits.refuse.qps": true, "blacklist.users": true, "blacklist.file": true,
		"breaker.window": true, "breaker.db_path.concurrency": true, "routes": true, "routes[0].path": true,
		"upstreams.shop": true, "upstreams.shop.servers[1]": true, "upstreams.backend2.timeout": true,
		"identity.trusted": true, "trusted_proxies[0].hops": true, "lock.wait": true, "tickets.window": true,
		"server.fields": true, "server.body_bytes": true,

		"limits.keys": false, "limits.item.scope": false, "limits.global.scope": false, "limits.item": false, "limits": false,
		"upstreams": false, "upstreams.backend": false, "upstreams.backend.timeout": false, "upstreams.backend.servers[0]": false,
		"identity.mode": false, "identity": false, "lock.ttl": false, "tickets.keys": false, "server.read": false, "server": false,
		"listen": false, "prefix": false, "redis.addrs": false, "sql.dsn": false, "log.level": false, "admin.listen": false,
		"routesx": false, "blacklists": false, "": false,
	} {
		if got := Live(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}

// outcome is what a request is told: its code, or its status.
func (g *gateway) outcome(r request) string {
	g.t.Helper()
	a := g.send(r)
	if a.member.Code != "" {
		return a.member.Code + a.member.Scope
	}
	return http.StatusText(a.status)
}

// Each key that is live has an effect on the next request.
func TestReloadChangesNothing(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer shop.Close()
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("user listed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	retry := with(purchase("u"), func(r *request) { r.path, r.retry = "/seckill/out", true })
	fields := with(get("/items"), func(r *request) { r.fields = []string{"A: 1", "B: 2"} })
	sent := with(purchase("u"), func(r *request) { r.body = `{"qty":1}` + strings.Repeat(" ", 100) })
	from := func(peer string) request { return with(purchase("u"), func(r *request) { r.peer = peer }) }
	far := with(get("/items"), func(r *request) { r.peer, r.fields = "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.7"} })
	for name, tt := range map[string]struct {
		at, to func(*config.Config)
		ask    request
		want   [2]string // before and after
	}{
		"limits.ip":         {to: func(c *config.Config) { c.Limits.IP.QPS = 0 }, ask: with(get("/items"), func(r *request) { r.peer = "192.0.2.1" }), want: [2]string{"OK", "limitedip"}},
		"limits.ip.exempt":  {at: closedIP, to: func(c *config.Config) { c.Limits.IP.Exempt = []string{"192.0.2.1"} }, ask: with(get("/items"), func(r *request) { r.peer = "192.0.2.1" }), want: [2]string{"limitedip", "OK"}},
		"limits.user":       {to: func(c *config.Config) { c.Limits.User.QPS = 0 }, ask: purchase("u"), want: [2]string{"Created", "limiteduser"}},
		"limits.item":       {to: func(c *config.Config) { c.Limits.Item.QPS = 0 }, ask: purchase("u"), want: [2]string{"Created", "limiteditem"}},
		"limits.items":      {to: func(c *config.Config) { c.Limits.Items = map[string]config.Rate{"1001": {}} }, ask: purchase("u"), want: [2]string{"Created", "limiteditem"}},
		"limits.global":     {to: func(c *config.Config) { c.Limits.Global.QPS = 0 }, ask: purchase("u"), want: [2]string{"Created", "limitedglobal"}},
		"limits.refuse":     {to: func(c *config.Config) { c.Limits.Refuse.QPS = 0 }, ask: retry, want: [2]string{"sold_out", "unknown_outcome"}},
		"blacklist.ips":     {to: func(c *config.Config) { c.Blacklist.IPs = []string{"127.0.0.1"} }, ask: purchase("u"), want: [2]string{"Created", "blacklisted"}},
		"blacklist.file":    {to: func(c *config.Config) { c.Blacklist.File = list }, ask: purchase("listed"), want: [2]string{"Created", "blacklisted"}},
		"routes":            {to: to(strings.TrimPrefix(shop.URL, "http://"), time.Second), ask: get("/shop/"), want: [2]string{"no_route", "OK"}},
		"upstreams":         {at: to("127.0.0.1:1", time.Second), to: to(strings.TrimPrefix(shop.URL, "http://"), time.Second), ask: get("/shop/"), want: [2]string{"upstream_failed", "OK"}},
		"identity.trusted":  {to: func(c *config.Config) { c.Identity.Trusted = []string{"192.0.2.1"} }, ask: from("192.0.2.1"), want: [2]string{"unauthenticated", "Created"}},
		"trusted_proxies":   {at: func(c *config.Config) { c.Blacklist.IPs = []string{"192.0.2.7"} }, to: func(c *config.Config) { c.TrustedProxies = []config.TrustedProxy{{CIDR: "10.0.0.0/8", Hops: 1}} }, ask: far, want: [2]string{"OK", "blacklisted"}},
		"server.fields":     {to: func(c *config.Config) { c.Server.Fields = 2 }, ask: fields, want: [2]string{"OK", "request_header_fields_too_large"}},
		"server.body_bytes": {to: func(c *config.Config) { c.Server.BodyBytes = 50 }, ask: sent, want: [2]string{"Created", "content_too_large"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t, tt.at)
			got := [2]string{g.outcome(tt.ask)}
			g.reload(tt.to)
			got[1] = g.outcome(tt.ask)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("before and after (-want +got)\n%s", diff)
			}
		})
	}
}

func closedIP(c *config.Config) { c.Limits.IP.QPS = 0 }

// The list is read anew each time, whether or not its name has changed.
func TestListFileIsReadOnce(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	write := func(text string) {
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	g := open(t, func(c *config.Config) { c.Blacklist.File = list })
	for user, want := range map[string]string{"ann": "blacklisted", "bob": "blacklisted"} {
		write("user " + user + "\n")
		g.reload(func(*config.Config) {})
		if got := g.outcome(purchase(user)); got != want {
			t.Errorf("%s: %s, want %s", user, got, want)
		}
	}
}

// What cannot be built changes nothing at all.
func TestHalfABadConfigurationIsInForce(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("user ann\nuser\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]func(*config.Config){
		list + ":2":        func(c *config.Config) { c.Blacklist.File = list },
		"no such file":     func(c *config.Config) { c.Blacklist.File = list + "x" },
		"trusted_proxies":  func(c *config.Config) { c.TrustedProxies = []config.TrustedProxy{{CIDR: "x", Hops: 1}} },
		"identity.trusted": func(c *config.Config) { c.Identity.Trusted = []string{"x"} },
		"limits.ip.exempt": func(c *config.Config) { c.Limits.IP.Exempt = []string{"x"} },
		"upstream shop":    func(c *config.Config) { c.Upstreams = map[string]config.Upstream{"shop": {}} },
		"routes[0]":        func(c *config.Config) { c.Routes = []config.Route{{Path: "/shop/", Upstream: "shop"}} },
		"routes[1]": func(c *config.Config) {
			to("127.0.0.1:1", time.Second)(c)
			c.Routes = append(c.Routes, config.Route{Path: "/o/", Upstream: "backend"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t, nil)
			before := g.policy.Load()
			c := config.Default()
			c.Limits.User.QPS, c.Limits.Item.QPS, c.Limits.Global.QPS, c.Limits.IP.QPS = 0, 0, 0, 0
			c.Blacklist.IPs, c.Breaker.DBPath.QPS = []string{"127.0.0.1"}, 0
			bad(&c)
			if err := g.Reload(&c); err == nil || !strings.Contains(err.Error(), name) {
				t.Fatalf("got %v, want an error about %s", err, name)
			}
			if g.policy.Load() != before {
				t.Error("the policy has changed")
			}
			if got := g.outcome(purchase("ann")); got != "Created" {
				t.Errorf("a purchase is told %s", got)
			}
		})
	}
}

// What needs a restart stays as it was, whatever the new configuration says.
func TestReloadMovesWhatNeedsARestart(t *testing.T) {
	g := open(t, nil)
	g.orders.place = func(ctx context.Context, k api.Ticket) (api.Order, error) {
		if until, _ := ctx.Deadline(); time.Until(until) > 3*time.Second {
			t.Error("the backend's timeout has changed")
		}
		return api.Order{OrderID: "77", BizID: k.BizID}, nil
	}
	g.reload(func(c *config.Config) {
		c.Prefix = "/rush"
		c.Upstreams["backend"] = config.Upstream{Embedded: true, Timeout: config.Duration(time.Hour)}
	})
	if got := g.outcome(purchase("u")); got != "Created" {
		t.Errorf("told %s", got)
	}
}
