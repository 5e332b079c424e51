package server

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/config"
)

// to makes a route to a server.
func to(addr string, timeout time.Duration) func(*config.Config) {
	return func(c *config.Config) {
		c.Upstreams["shop"] = config.Upstream{Servers: []string{addr}, Timeout: config.Duration(timeout)}
		c.Routes = []config.Route{{Path: "/shop/", Upstream: "shop"}}
	}
}

// A service behind the gateway hears who is asking from the gateway alone.
func TestServiceHearsTheClientsOwnWords(t *testing.T) {
	got := make(chan *http.Request, 1)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Header.Set("Body", string(body))
		got <- r
		w.Header().Set("X-Shop", "yes")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "hello")
	}))
	defer shop.Close()
	g := open(t, func(c *config.Config) {
		to(strings.TrimPrefix(shop.URL, "http://"), time.Second)(c)
		c.TrustedProxies = []config.TrustedProxy{{CIDR: "127.0.0.0/8", Hops: 1}}
	})
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for name, tt := range map[string]struct {
		peer, user, client string
	}{
		"trusted":   {"127.0.0.1", "ann", "198.51.100.7"},
		"untrusted": {"192.0.2.1", "", "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.send(request{peer: tt.peer, path: "/shop/cart?x=1", user: "ann", body: "b", fields: []string{
				"X-Forwarded-For: 203.0.113.9, 198.51.100.7", "X-Request-Id: mine", "Rushgate-Ticket: v1.forged", "traceparent: 00-" + trace + "-00f067aa0ba902b7-01",
			}})
			if a.status != 202 || a.body != "hello" || a.header.Get("X-Shop") != "yes" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			r := <-got
			h := r.Header
			want := map[string]string{"user": tt.user, "client": tt.client, "ticket": "", "path": "/shop/cart?x=1", "body": "b", "proto": "http"}
			seen := map[string]string{
				"user": h.Get("X-User-Id"), "client": strings.Join(h.Values("X-Forwarded-For"), "|"), "ticket": h.Get("Rushgate-Ticket"),
				"path": r.RequestURI, "body": h.Get("Body"), "proto": h.Get("X-Forwarded-Proto"),
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tp := h.Get("traceparent"); !strings.HasPrefix(tp, "00-"+trace+"-") || strings.Contains(tp, "00f067aa0ba902b7") || len(tp) != 55 {
				t.Errorf("traceparent %s", tp)
			}
			if id := h.Get("X-Request-Id"); id == "" || id == "mine" {
				t.Errorf("X-Request-Id %q", id)
			}
		})
	}
	if n := g.count("rushgate_requests_total", "202", "proxied"); n != 2 {
		t.Errorf("%v counted", n)
	}
}

// What goes wrong behind the gateway is told apart: nobody there, no answer, no
// sense, round in circles.
func TestServiceFails(t *testing.T) {
	listen := func(t *testing.T, serve func(net.Conn)) string {
		t.Helper()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		if serve == nil {
			ln.Close()
			return ln.Addr().String()
		}
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				serve(c)
			}
		}()
		return ln.Addr().String()
	}
	silent := make(chan net.Conn, 10)
	for name, tt := range map[string]struct {
		serve  func(net.Conn)
		status int
		code   string
	}{
		"nobody is there":  {nil, 502, "upstream_failed"},
		"it never answers": {func(c net.Conn) { silent <- c }, 504, "unknown_outcome"},
		"it hangs up":      {func(c net.Conn) { c.Close() }, 502, "upstream_failed"},
		"it talks nonsense": {func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "220 smtp\r\n\r\n")
			c.Close()
		}, 502, "upstream_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t, to(listen(t, tt.serve), 100*time.Millisecond))
			a := g.send(request{path: "/shop/cart", user: "u"})
			if a.status != tt.status || a.member.Code != tt.code {
				t.Errorf("%d %s, want %d %s", a.status, a.body, tt.status, tt.code)
			}
			isProblem(t, a)
			if strings.Contains(a.member.Detail, "Idempotency-Key") {
				t.Errorf("a service's answer speaks of purchases: %s", a.member.Detail)
			}
		})
	}
	for len(silent) > 0 {
		(<-silent).Close()
	}
	t.Run("itself is there", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g := open(t, to(ln.Addr().String(), time.Second))
		go func() { _ = g.Serve(ln) }()
		a := g.send(request{path: "/shop/cart", user: "u"})
		if a.status != 508 || a.member.Code != "loop_detected" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// The lists and the limits hold for routes of the shop too.
func TestRouteGoesRoundTheLists(t *testing.T) {
	g := open(t, func(c *config.Config) {
		to("127.0.0.1:1", time.Second)(c)
		c.Blacklist.Users, c.Blacklist.IPs = []string{"bad"}, []string{"192.0.2.66"}
		c.Limits.Global.QPS = 0
	})
	for name, tt := range map[string]struct {
		r    request
		code string
	}{
		"a blocked address": {with(get("/shop/x"), func(r *request) { r.peer = "192.0.2.66" }), "blacklisted"},
		"a blocked user":    {with(get("/shop/x"), func(r *request) { r.user = "bad" }), "blacklisted"},
		"anybody":           {get("/shop/x"), "limited"},
	} {
		if a := g.send(tt.r); a.member.Code != tt.code {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.body, tt.code)
		}
	}
}
