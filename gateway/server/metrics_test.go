package server

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/config"
)

func TestMetricNames(t *testing.T) {
	g := open(t, nil)
	g.send(purchase("u"))
	g.send(get("/nope")) // a vector in which nobody has counted yet is not there
	families, err := g.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		got = append(got, f.GetName())
	}
	want := []string{
		"rushgate_admission_batch_size", "rushgate_admissions_total", "rushgate_breaker_state", "rushgate_panics_total",
		"rushgate_refusals_total", "rushgate_request_seconds", "rushgate_requests_total", "rushgate_tickets_total",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	g := open(t, nil)
	admitted := g.count("rushgate_admissions_total", "admitted")
	for _, r := range []request{purchase("a"), purchase("b"), get("/items"), get("/nope"), with(purchase("c"), func(r *request) { r.user = "" })} {
		g.send(r)
	}
	for _, want := range []struct {
		n      float64
		name   string
		labels []string
	}{
		{2, "rushgate_requests_total", []string{"201", "purchase"}}, // by outcome, route
		{1, "rushgate_requests_total", []string{"unauthenticated", "purchase"}},
		{1, "rushgate_requests_total", []string{"200", "items"}},
		{1, "rushgate_requests_total", []string{"no_route", "none"}},
		{1, "rushgate_refusals_total", []string{"no_route", "route"}}, // by reason, stage
		{1, "rushgate_refusals_total", []string{"unauthenticated", "identity"}},
		{2, "rushgate_tickets_total", []string{"redis"}},
		{admitted + 2, "rushgate_admissions_total", []string{"admitted"}},
	} {
		if got := g.count(want.name, want.labels...); got != want.n {
			t.Errorf("%s%v is %v, want %v", want.name, want.labels, got, want.n)
		}
	}
}

// Whatever clients make up, it is in no label, and the labels are few.
func TestClientsWriteLabels(t *testing.T) {
	g := open(t, func(c *config.Config) {
		c.Limits.IP = config.IPRate{QPS: 1e-6, Burst: 100, IPv6Prefix: 64}
		c.Blacklist.Users = []string{"mallory-blocked"}
	})
	const word = "mallory"
	for _, r := range []request{
		purchase(word), purchase("mallory-blocked"), get("/" + word), get("/items/" + word), get("/_rushgate/" + word),
		with(purchase("u"), func(r *request) { r.path = "/seckill/" + word }),
		with(purchase("u"), func(r *request) { r.method = strings.ToUpper(word) }),
		with(get("/items"), func(r *request) { r.fields = []string{word + ": " + word, "traceparent: " + word} }),
		with(purchase("u"), func(r *request) { r.key, r.peer = word, "203.0.113.77" }),
	} {
		g.send(r)
	}
	g.orders.place = func(context.Context, api.Ticket) (api.Order, error) { return api.Order{}, &api.Refusal{Code: word} }
	g.send(purchase("v"))
	families, err := g.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if v := strings.ToLower(l.GetValue()); strings.Contains(v, word) || strings.Contains(v, "203.0.113") {
					t.Errorf("%s has a label %s=%q", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
}

// A backend that fails is told about, not for each request, and without the name
// of a buyer.
func TestLogNamesBuyersOrFills(t *testing.T) {
	g := open(t, generous)
	g.orders.place = func(context.Context, api.Ticket) (api.Order, error) { return api.Order{}, errors.New("disk") }
	for range 200 {
		g.send(purchase("mallory"))
		g.send(with(purchase("mallory"), func(r *request) { r.key = "" }))
	}
	log := g.log.String()
	n := strings.Count(log, "\n")
	if n == 0 || n > 20 || !strings.Contains(log, "disk") || !strings.Contains(log, "trace_id=") {
		t.Errorf("%d lines:\n%s", n, log)
	}
	if strings.Contains(log, "mallory") || strings.Contains(log, "127.0.0.1") {
		t.Errorf("it names the buyer or the address:\n%s", log)
	}
}

// A fault of the gateway is answered, counted and logged with its stack, and
// harms no other request.
func TestPanicTakesEverybodyDown(t *testing.T) {
	g := open(t, generous)
	g.orders.get = func(string, string) (api.Order, error) { panic("a bug") }
	c := g.dial("")
	defer c.Close()
	ask := with(get("/orders/1"), func(r *request) { r.user = "u" })
	for range 20 {
		if a := c.ask("GET", ask.text()); a.status != 500 || a.member.Code != "internal_server_error" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if a := c.ask("GET", "GET /items/1001 HTTP/1.1\r\nHost: a\r\n\r\n"); a.status != 200 {
			t.Fatalf("the next on its connection: %d %s", a.status, a.body)
		}
	}
	if n, m := g.count("rushgate_panics_total"), g.count("rushgate_requests_total", "internal_server_error", "order"); n != 20 || m != 20 {
		t.Errorf("%v panics counted and %v requests, want 20", n, m)
	}
	log := g.log.String()
	if !strings.Contains(log, "a bug") || !strings.Contains(log, "orders.go") || strings.Count(log, "\n") > 20 {
		t.Errorf("logged:\n%s", log)
	}
}
