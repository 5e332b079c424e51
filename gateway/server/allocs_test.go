package server

import (
	"bufio"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"rushgate/config"
	"rushgate/gateway/admit"
)

// peer is a connection of which only the other end's address is asked.
type peer struct {
	net.Conn
	addr *net.TCPAddr
}

func (p peer) RemoteAddr() net.Addr { return p.addr }

// parsed is a request as fasthttp hands it to the handler.
func parsed(t testing.TB, r request) *fasthttp.RequestCtx {
	t.Helper()
	if r.peer == "" {
		r.peer = "127.0.0.1"
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(peer{addr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(r.peer), 50000))}, nil, false)
	if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(r.text()))); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// A request that is refused without asking anybody costs no memory: in a rush
// nearly all are.
func TestRefusalAllocates(t *testing.T) {
	g := build(t, func(c *config.Config) {
		c.Blacklist.IPs, c.Blacklist.Users = []string{"192.0.2.0/24"}, []string{"bad"}
		c.Limits.User = rare
		c.Limits.IP.QPS, c.Limits.IP.Burst = rare.QPS, rare.Burst
		c.TrustedProxies = []config.TrustedProxy{{CIDR: "127.0.0.0/8", Hops: 1}}
		c.Breaker.SlowCall = config.Duration(patience)
	})
	g.Start(t.Context())
	g.reload(func(c *config.Config) { c.Limits.IP.Exempt = append(c.Limits.IP.Exempt, "198.51.100.0/24") })
	if s := g.catalogue.Snapshot(); s == nil {
		t.Fatal("nothing is known")
	}
	browser := []string{
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64)", "Accept: */*", "Accept-Language: zh-CN,en;q=0.5", "Cookie: a=b; c=d",
		"X-Forwarded-For: 198.51.100.7, 198.51.100.8", "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
	from := func(path string, change func(*request)) request {
		r := request{path: path, user: "a-user-whose-name-is-longer-than-32-bytes", key: "0190a5b2-0000-7000-8000-000000000000", fields: browser, body: `{"qty":1}`}
		if change != nil {
			change(&r)
		}
		return r
	}
	for name, tt := range map[string]struct {
		ask  request
		code string
	}{
		"blocked address": {from("/seckill/1001", func(r *request) { r.peer = "192.0.2.7" }), "blacklisted"},
		"blocked user":    {from("/seckill/1001", func(r *request) { r.user = "bad" }), "blacklisted"},
		"address limit":   {from("/seckill/1001", func(r *request) { r.fields = []string{"X-Forwarded-For: 203.0.113.1"} }), "limited"},
		"user limit":      {from("/seckill/early", func(r *request) { r.retry = true }), "limited"},
		"unknown item":    {from("/seckill/nope", nil), "no_such_item"},
		"not started":     {from("/seckill/early", nil), "not_started"},
		"sold out":        {from("/seckill/out", nil), "sold_out"},
		"nobody":          {from("/seckill/1001", func(r *request) { r.user = "" }), "unauthenticated"},
		"no route":        {from("/nope", nil), "no_route"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := parsed(t, tt.ask)
			g.handle(ctx) // spends the token, where there is one
			if _, err := g.gate.Buy(t.Context(), admit.Request{Item: "out", User: "x", BizID: "x", Qty: 1}); err == nil {
				t.Fatal("the item that is to be sold out sold")
			}
			got := testing.AllocsPerRun(200, func() { g.handle(ctx) })
			if body := string(ctx.Response.Body()); !strings.Contains(body, `"code":"`+tt.code+`"`) {
				t.Fatalf("answered %s", body)
			}
			if got > mayAllocate {
				t.Errorf("%v allocations, want %d", got, mayAllocate)
			}
		})
	}
}
