package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/config"
)

// routed makes everything under a path go to a service that says what it got.
func routed(t *testing.T, path string) func(*config.Config) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Seen", r.URL.Path)
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(s.Close)
	return func(c *config.Config) {
		c.Upstreams["shop"] = config.Upstream{Servers: []string{strings.TrimPrefix(s.URL, "http://")}, Timeout: config.Duration(time.Second)}
		c.Routes = append(c.Routes, config.Route{Path: path, Upstream: "shop"})
	}
}

// A prefix moves Rushgate's own paths, all of them, and no route.
func TestPrefixMovesThePathsOfTheShop(t *testing.T) {
	const proxied = http.StatusTeapot
	for name, tt := range map[string]struct {
		prefix string
		want   map[string]int // by method and path
	}{
		"none": {"", map[string]int{
			"GET /": 200, "GET /_rushgate/rushgate.js": 200, "GET /time": 200, "GET /items": 200, "GET /items/1001": 200,
			"POST /seckill/1001": 201, "GET /orders/1": 404, "POST /orders/1/pay": 200, "POST /orders/1/cancel": 200, "GET /orders?biz_id=1": 404,
			"GET /shop/time": proxied, "GET /shop": proxied, "GET /shopping": 404, "GET /rush/time": 404, "DELETE /items": 405,
			"GET /orders/1/pay/": 404, "POST /orders/1/": 404,
		}},
		"/rush": {"/rush", map[string]int{
			"GET /rush": 308, "GET /rush/": 200, "GET /rush/_rushgate/rushgate.js": 200, "GET /rush/time": 200, "GET /rush/items": 200, "GET /rush/items/1001": 200,
			"POST /rush/seckill/1001": 201, "GET /rush/orders/1": 404, "POST /rush/orders/1/pay": 200, "GET /rush/orders?biz_id=1": 404,
			"GET /shop/time": proxied, "GET /time": 404, "GET /": 404, "GET /items": 404, "POST /seckill/1001": 404, "GET /orders/1": 404,
			"GET /rushtime": 404, "GET /rush-hour/items": 404, "GET /rush/nope": 404, "DELETE /rush/items": 405,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			shop := routed(t, "/shop/")
			g := open(t, func(c *config.Config) {
				c.Prefix = tt.prefix
				shop(c)
				generous(c)
			})
			got := make(map[string]int, len(tt.want))
			for line := range tt.want {
				method, path, _ := strings.Cut(line, " ")
				a := g.send(request{method: method, path: path, user: "u", key: "k"})
				got[line] = a.status
				if l := a.header.Get("Location"); a.status == 201 && l != tt.prefix+"/orders/77" {
					t.Errorf("%s: Location %q", line, l)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("statuses (-want +got)\n%s", diff)
			}
		})
	}
}

// Where the shop has the root, what is Rushgate's own stays its own.
func TestRouteOfTheRootTakesOwnPaths(t *testing.T) {
	shop := routed(t, "/")
	g := open(t, func(c *config.Config) {
		c.Prefix = "/rush"
		shop(c)
	})
	for path, want := range map[string]string{"/time": "/time", "/": "/", "/rush/nope": "/rush/nope", "/rushes": "/rushes", "/rush/time": "", "/rush/items": ""} {
		if got := g.send(get(path)).header.Get("Seen"); got != want {
			t.Errorf("%s went to the shop as %q, want %q", path, got, want)
		}
	}
}

func TestPurchaseTellsTheOrder(t *testing.T) {
	g := open(t, nil)
	r := purchase("u")
	r.key, r.body = `"a-key"`, `{"qty":2}`
	a := g.send(r)
	if a.status != 201 || a.header.Get("Content-Type") != "application/json" || a.header.Get("Location") != "/orders/77" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s", a.head)
	}
	if want := `{"order_id":"77","biz_id":"a-key","item":"1001","user":"u","qty":2,"state":"created"}`; a.body != want {
		t.Errorf("body %s, want %s", a.body, want)
	}
}

// A recorded refusal is an answer to a question, and none to a purchase.
func TestOrderLookUps(t *testing.T) {
	g := open(t, nil)
	g.orders.find = func(context.Context) (api.Order, error) {
		return api.Order{BizID: "b", Item: "1001", User: "u", Qty: 1, State: api.StateRefused, Code: api.SoldOut}, nil
	}
	g.orders.get = func(user, id string) (api.Order, error) {
		return api.Order{OrderID: id, User: user, State: api.StatePaid}, nil
	}
	ask := get("/orders?biz_id=b")
	ask.user = "u"
	if a := g.send(ask); a.status != 200 || a.body != `{"biz_id":"b","item":"1001","user":"u","qty":1,"state":"refused","code":"sold_out"}` {
		t.Errorf("%d %s", a.status, a.body)
	}
	ask.path = "/orders/5"
	if a := g.send(ask); a.status != 200 || a.member.OrderID != "5" || a.member.State != "paid" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// The page's clock is the one that opens the sale.
func TestTime(t *testing.T) {
	g := open(t, nil)
	before := time.Now()
	a := g.send(get("/time"))
	after := time.Now()
	var got struct {
		Now, T1, T2 int64
		Source      string
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Source != "local" || got.T1 < before.UnixMicro() || got.T2 < got.T1 || got.T2 > after.UnixMicro() || got.Now != got.T2/1000 {
		t.Errorf("between %d and %d it says %s", before.UnixMicro(), after.UnixMicro(), a.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "Access-Control-Allow-Origin": "*", "Timing-Allow-Origin": "*",
	} {
		has(name, want)(t, a)
	}
}

func TestItemsAndTheirStates(t *testing.T) {
	g := open(t, nil)
	a := g.send(get("/items"))
	var got struct {
		Now   int64
		Items []struct {
			Item, Title, State, Mode string
			PriceCents               int64 `json:"price_cents"`
			StartsAt                 int64 `json:"starts_at"`
			EndsAt                   int64 `json:"ends_at"`
			PerUser                  int   `json:"per_user"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, v := range got.Items {
		states[v.Item] = v.State
		if v.Title != "Item "+v.Item || v.PriceCents != 100 || v.StartsAt >= v.EndsAt || v.PerUser != 2 || v.Mode != "sync" {
			t.Errorf("%+v", v)
		}
	}
	want := map[string]string{"1001": "open", "out": "sold_out", "early": "upcoming", "late": "ended", "paused": "paused", "sql_out": "sold_out"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for item, state := range want {
		a := g.send(get("/items/" + item))
		if a.status != 200 || a.member.State != state || a.member.Now == 0 {
			t.Errorf("/items/%s: %d %s", item, a.status, a.body)
		}
	}
}

// The states where more than one is true.
func TestStateOf(t *testing.T) {
	g := build(t, nil)
	for name, tt := range map[string]struct {
		state  string
		starts int64
		ends   int64
		want   string
	}{
		"the first moment":     {"open", 10, 20, "open"},
		"one before":           {"open", 11, 20, "upcoming"},
		"the last":             {"open", 0, 11, "open"},
		"one after":            {"open", 0, 10, "ended"},
		"over and paused":      {"paused", 0, 10, "ended"},
		"over and sold out":    {"sold_out", 0, 10, "ended"},
		"to come and paused":   {"paused", 11, 20, "paused"},
		"to come without any":  {"sold_out", 11, 20, "upcoming"},
		"a state of tomorrow":  {"melting", 0, 20, "open"},
		"nothing left of it":   {"sold_out", 0, 20, "sold_out"},
		"paused while it runs": {"paused", 0, 20, "paused"},
	} {
		if got := g.stateOf(&api.Sale{Item: "x", State: tt.state, StartsAt: tt.starts, EndsAt: tt.ends}, 10); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestPageIsFetchedTwice(t *testing.T) {
	g := open(t, nil)
	for _, path := range []string{"/", "/_rushgate/rushgate.js"} {
		a := g.send(get(path))
		tag := a.header.Get("ETag")
		if a.status != 200 || tag == "" || a.body == "" {
			t.Fatalf("%s: %d %q", path, a.status, tag)
		}
		ask := get(path)
		ask.fields = []string{"If-None-Match: \"other\", " + tag}
		if a := g.send(ask); a.status != 304 || a.body != "" || a.header.Get("ETag") != tag {
			t.Errorf("%s with its tag: %d, %d bytes", path, a.status, len(a.body))
		}
		ask.fields = []string{`If-None-Match: "other"`}
		if a := g.send(ask); a.status != 200 {
			t.Errorf("%s with another tag: %d", path, a.status)
		}
	}
}

// Before the backend was ever reached nothing is known, which is not "nothing on
// sale".
func TestNothingKnownIsToldAsNothingOnSale(t *testing.T) {
	g := build(t, nil)
	g.orders.down = true
	g.Start(t.Context())
	go func() { _ = g.Serve(g.ln) }()
	t.Cleanup(func() { _ = g.Shutdown(t.Context()) })
	if g.Ready() == nil {
		t.Error("ready")
	}
	for _, r := range []request{get("/items"), get("/items/1001"), purchase("u")} {
		if a := g.send(r); a.status != 503 || a.member.Code != "overloaded" || a.header.Get("Retry-After") != "1" {
			t.Errorf("%s: %d %s", r.path, a.status, a.body)
		}
	}
	g.orders.mu.Lock()
	g.orders.down = false
	g.orders.mu.Unlock()
	if err := g.catalogue.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Ready(); err != nil {
		t.Error(err)
	}
	if a := g.send(purchase("u")); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
	g.goDown()
	if g.Ready() == nil {
		t.Error("ready with the backend gone")
	}
}
