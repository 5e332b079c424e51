package api_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
)

func TestNewClientRefuses(t *testing.T) {
	t.Parallel()
	keys, servers := newKeys(t, api.Key{ID: "k1", Secret: secretA}), []string{"127.0.0.1:1"}
	for name, opt := range map[string]api.ClientOptions{
		"nothing":           {},
		"no keys":           {Servers: servers},
		"no servers":        {Keys: keys},
		"no port":           {Keys: keys, Servers: []string{"backend"}},
		"no host":           {Keys: keys, Servers: []string{":8081"}},
		"two in one":        {Keys: keys, Servers: []string{"a:1,b:1"}},
		"a URL":             {Keys: keys, Servers: []string{"http://a:1"}},
		"negative":          {Keys: keys, Servers: servers, Timeout: -1},
		"prefix bare":       {Keys: keys, Servers: servers, Prefix: "shop"},
		"prefix closed":     {Keys: keys, Servers: servers, Prefix: "/shop/"},
		"prefix with query": {Keys: keys, Servers: servers, Prefix: "/shop?a"},
	} {
		if _, err := api.NewClient(opt); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

// The request lines are the contract that a shop's own service is written by.
func TestRequests(t *testing.T) {
	t.Parallel()
	type request struct{ Line, Ticket, Body string }
	header := newKeys(t, api.Key{ID: "k1", Secret: secretA}).Sign
	refusal := aTicket()
	refusal.Path = api.PathRefuse
	want := map[string]request{
		"place":  {"POST /in/v1/orders", header(aTicket()), `{"qty":1}`},
		"refuse": {"POST /in/v1/orders/refuse", header(refusal), `{"qty":1,"code":"sold_out"}`},
		"pay":    {"POST /in/v1/orders/77/pay", "", `{"user":"u-7"}`},
		"cancel": {"POST /in/v1/orders/77/cancel", "", `{"user":"u-7"}`},
		"find":   {"GET /in/v1/orders?biz_id=biz-1&user=u-7", "", ""},
		"get":    {"GET /in/v1/orders/77?user=u-7", "", ""},
	}
	for _, c := range calls() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan request, 1)
			p := startPeer(t, func(conn net.Conn, _ int, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				seen <- request{r.Method + " " + r.RequestURI, r.Header.Get(api.HeaderTicket), string(body)}
				answer(conn, c.status, c.body())
				return true
			})
			client := newClientOf(t, api.ClientOptions{Servers: []string{p.addr}, Prefix: "/in", Timeout: time.Minute})
			o, err := c.do(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.order, o); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want[c.name], <-seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A user and a key may hold everything that has a meaning in a URL.
func TestQueryIsEscaped(t *testing.T) {
	t.Parallel()
	const user, bizID = "a&biz_id=x#?/%41+;", `"\<>~%`
	p := startPeer(t, func(conn net.Conn, _ int, r *http.Request) bool {
		q := r.URL.Query()
		answer(conn, 200, text(api.Order{OrderID: "1", User: q.Get("user"), BizID: q.Get("biz_id"), State: api.StatePaid}))
		return true
	})
	if _, err := newClient(t, p.addr).Find(t.Context(), user, bizID); err != nil {
		t.Error(err)
	}
}

// What no server may take is not sent: it is definitely not done, or not there.
func TestIllegalArgumentsAreNotSent(t *testing.T) {
	t.Parallel()
	p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
		answer(conn, 500, "")
		return true
	})
	c := newClient(t, p.addr)
	ticket, refusal := aTicket(), aTicket()
	refusal.Path = api.PathRefuse
	broken := ticket
	broken.User = "two words"
	for name, test := range map[string]struct {
		want error
		do   func(ctx context.Context) (api.Order, error)
	}{
		"place a refusal":      {api.ErrFailed, func(ctx context.Context) (api.Order, error) { return c.Place(ctx, refusal) }},
		"place illegal":        {api.ErrFailed, func(ctx context.Context) (api.Order, error) { return c.Place(ctx, broken) }},
		"refuse a purchase":    {api.ErrFailed, func(ctx context.Context) (api.Order, error) { return c.Refuse(ctx, ticket, api.SoldOut) }},
		"refuse for a while":   {api.ErrFailed, func(ctx context.Context) (api.Order, error) { return c.Refuse(ctx, refusal, api.Paused) }},
		"find nobody":          {api.ErrNotFound, func(ctx context.Context) (api.Order, error) { return c.Find(ctx, "", "b") }},
		"find nothing":         {api.ErrNotFound, func(ctx context.Context) (api.Order, error) { return c.Find(ctx, "u", "b\n") }},
		"get another path":     {api.ErrNotFound, func(ctx context.Context) (api.Order, error) { return c.Get(ctx, "u", "../catalogue") }},
		"pay another path":     {api.ErrNotFound, func(ctx context.Context) (api.Order, error) { return c.Pay(ctx, "u", "1/cancel?") }},
		"cancel without order": {api.ErrNotFound, func(ctx context.Context) (api.Order, error) { return c.Cancel(ctx, "u", "") }},
	} {
		if _, err := test.do(t.Context()); !errors.Is(err, test.want) || errors.Is(err, api.ErrUnknown) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	wantRequests(t, p, 0)
}

func TestContextOverBeforeTheCall(t *testing.T) {
	t.Parallel()
	p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
		answer(conn, 500, "")
		return true
	})
	client := newClient(t, p.addr)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, late} {
		for _, c := range calls() {
			if _, err := c.do(ctx, client); !errors.Is(err, api.ErrFailed) || errors.Is(err, api.ErrUnknown) {
				t.Errorf("%s: got %v, want ErrFailed", c.name, err)
			}
		}
		if _, err := client.Catalogue(ctx, ""); !errors.Is(err, api.ErrFailed) {
			t.Errorf("catalogue: got %v, want ErrFailed", err)
		}
	}
	wantRequests(t, p, 0)
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		client := newClient(t, refusedAddr(t), refusedAddr(t))
		if _, err := c.do(t.Context(), client); !errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrUnknown) {
			t.Errorf("%s: got %v, want ErrUnreachable", c.name, err)
		}
	}
}

func TestTheOtherServerAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
			answer(conn, c.status, c.body())
			return true
		})
		client := newClient(t, refusedAddr(t), p.addr)
		for range 2 {
			if _, err := c.do(t.Context(), client); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		wantRequests(t, p, 2)
	}
}

// A recorded refusal is an outcome to who looks it up, and nowhere else.
func TestFindTellsARecordedRefusal(t *testing.T) {
	t.Parallel()
	const refusal = `{"biz_id":"biz-1","item":"1001","user":"u-7","qty":1,"state":"refused","code":"sold_out"}`
	p := startPeer(t, func(conn net.Conn, n int, _ *http.Request) bool {
		answer(conn, 200, strings.Replace(refusal, "sold_out", map[int]string{1: "sold_out", 2: "too_late"}[n], 1))
		return true
	})
	client := newClient(t, p.addr)
	want := api.Order{BizID: "biz-1", Item: "1001", User: "u-7", Qty: 1, State: api.StateRefused, Code: api.SoldOut}
	got, err := client.Find(t.Context(), "u-7", "biz-1")
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := client.Find(t.Context(), "u-7", "biz-1"); !errors.Is(err, api.ErrFailed) {
		t.Errorf("of an unknown code: %v", err)
	}
}

// A newer server may say more than this client knows.
func TestUnknownMembersAreIgnored(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		p := startPeer(t, func(conn net.Conn, n int, _ *http.Request) bool {
			if n == 1 {
				answer(conn, c.status, `{"gift":{"wrapped":true},`+c.body()[1:])
			} else {
				answer(conn, 409, `{"code":"sold_out","left":2,"type":"about:blank","trace":["a"]}`)
			}
			return true
		})
		client := newClient(t, p.addr)
		if _, err := c.do(t.Context(), client); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_, err := c.do(t.Context(), client)
		if r, ok := errors.AsType[*api.Refusal](err); !ok || r.Code != api.SoldOut || r.Left == nil || *r.Left != 2 {
			t.Errorf("%s: got %v, want a refusal", c.name, err)
		}
	}
}

// A refused ticket is nobody's purchase gone wrong but a configuration to put
// right, so the error names it.
func TestRefusedTicketNamesTheKeys(t *testing.T) {
	t.Parallel()
	c := calls()[0]
	p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
		answer(conn, 403, `{"code":"bad_ticket"}`)
		return true
	})
	_, err := c.do(t.Context(), newClient(t, p.addr))
	if !errors.Is(err, api.ErrFailed) || !errors.Is(err, api.ErrTicketInvalid) || !strings.Contains(err.Error(), "tickets.keys") {
		t.Errorf("got %v", err)
	}
}

// A shop's own service names its own reasons why it did nothing.
func TestNotDoneForAnyReason(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
			answer(conn, 503, `{"code":"stocktaking"}`)
			return true
		})
		_, err := c.do(t.Context(), newClient(t, p.addr))
		if !errors.Is(err, api.ErrFailed) || errors.Is(err, api.ErrUnknown) || !strings.Contains(err.Error(), "stocktaking") {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
