package main

import (
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rushgate/backend/api"
	backend "rushgate/backend/server"
	"rushgate/config"
)

// elsewhere is a backend behind HTTP, as it runs in a process of its own.
type elsewhere struct {
	*backend.Backend
	http *http.Server
	addr string
}

// secret is a ticket key of the tests.
const secret = "a secret of the tests, thirty-two bytes and more"

func startElsewhere(t *testing.T, ln net.Listener) *elsewhere {
	t.Helper()
	l, err := config.Load(config.Options{Flags: map[string]string{"data": t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := backend.Open(t.Context(), backend.Options{Config: l.Config, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	b.Start(t.Context())
	keys, err := api.NewKeys([]api.Key{{ID: "k1", Secret: []byte(secret)}})
	if err != nil {
		t.Fatal(err)
	}
	e := &elsewhere{Backend: b, addr: ln.Addr().String(), http: backend.HTTPServer("", backend.Handler(backend.HandlerOptions{Orders: b, Keys: keys}))}
	go func() { _ = e.http.Serve(ln) }() // ends with Close
	t.Cleanup(func() {
		_ = e.http.Close()
		if err := b.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Errorf("closing the backend: %v", err)
		}
	})
	return e
}

// gatewayTo is a gateway without a filter that uses backends elsewhere.
func gatewayTo(t *testing.T, servers ...string) *shop {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{
		"upstreams.backend.servers": strings.Join(servers, ","),
		"tickets.keys":              "[{id: k1, secret_file: " + file + "}]",
	}
	maps.Copy(flags, wideOpen)
	return openShop(t, shopOptions{flags: flags})
}

func localListener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func TestGatewayWithoutFilterSellsOnTheDBPath(t *testing.T) {
	e := startElsewhere(t, localListener(t))
	if err := e.Store.Create(t.Context(), saleOf("1", 100)); err != nil {
		t.Fatal(err)
	}
	s := gatewayTo(t, e.addr)
	s.eventually("the gateway knows the item", func() bool { return s.get("/items/1", "").status == 200 })
	answers := s.crowd(64, twoKeysEach(300))
	n := codes(answers)
	if n["order"] != 100 || n["sold_out"]+n["duplicate"] != 500 {
		t.Fatalf("answers: %v", n)
	}
	for id, a := range orderIDs(answers) {
		if o := s.get("/orders/"+id, a.User); o.status != 200 || o.BizID != a.BizID {
			t.Fatalf("order %s: %s", id, o.String())
		}
	}
	var one answer
	for _, one = range orderIDs(answers) {
		break
	}
	if a := s.post("/orders/"+one.OrderID+"/pay", one.User); a.status != 200 || a.State != api.StatePaid {
		t.Fatalf("pay: %s", a.String())
	}
	if a := s.post("/orders/"+one.OrderID+"/cancel", one.User); a.status != 409 || a.State != api.StatePaid {
		t.Fatalf("cancelling what is paid: %s", a.String())
	}
}

func TestBackendGoneIsRefusedBeforeAdmission(t *testing.T) {
	ln := localListener(t)
	e := startElsewhere(t, ln)
	if err := e.Store.Create(t.Context(), saleOf("1", 10)); err != nil {
		t.Fatal(err)
	}
	s := gatewayTo(t, e.addr)
	s.eventually("the gateway knows the item", func() bool { return s.get("/items/1", "").status == 200 })
	if err := e.http.Close(); err != nil {
		t.Fatal(err)
	}
	s.eventually("the gateway notices", func() bool {
		a := s.buy(freshClicks("1", "u", 1)[0])
		if a.status != 503 && a.status != 504 { // 504 only for what was under way
			t.Fatalf("without a backend: %s", a.String())
		}
		return a.Code == "overloaded" && s.gateway.Ready() != nil
	})
	again, err := net.Listen("tcp", e.addr)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := api.NewKeys([]api.Key{{ID: "k1", Secret: []byte(secret)}})
	if err != nil {
		t.Fatal(err)
	}
	back := backend.HTTPServer("", backend.Handler(backend.HandlerOptions{Orders: e.Backend, Keys: keys}))
	go func() { _ = back.Serve(again) }()
	defer func() { _ = back.Close() }()
	s.eventually("it sells again by itself", func() bool { return s.buy(freshClicks("1", "v", 1)[0]).status == 201 })
}

func TestForgedTicketsSellNothing(t *testing.T) {
	e := startElsewhere(t, localListener(t))
	if err := e.Store.Create(t.Context(), saleOf("1", 10)); err != nil {
		t.Fatal(err)
	}
	other, err := api.NewKeys([]api.Key{{ID: "k1", Secret: []byte(strings.Repeat("x", 40))}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.NewClient(api.ClientOptions{Servers: []string{e.addr}, Keys: other})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ticket := api.Ticket{Item: "1", User: "u", BizID: "k", Qty: 1, Path: api.PathDB, Exp: time.Now().Add(time.Minute).UnixMilli()}
	if o, err := c.Place(t.Context(), ticket); err == nil {
		t.Fatalf("a forged ticket made order %s", o.OrderID)
	}
	if v, err := e.Store.Sale(t.Context(), "1"); err != nil || v.Num != 10 {
		t.Fatalf("%d units left, %v", v.Num, err)
	}
}
