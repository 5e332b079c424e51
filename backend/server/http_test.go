package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/backend/server"
)

var handlerNow = time.UnixMilli(1_800_000_000_000)

// wire is a handler and what a gateway needs to speak to it byte by byte.
type wire struct {
	handler http.Handler
	orders  *fakeOrders
	keys    *api.Keys

	mu       sync.Mutex
	reported []string
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{orders: &fakeOrders{order: api.Order{OrderID: "1", State: api.StateCreated}}, keys: api.RandomKeys()}
	w.handler = server.Handler(server.HandlerOptions{
		Orders: w.orders, Keys: w.keys, Now: func() time.Time { return handlerNow },
		Report: func(op string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reported = append(w.reported, op+": "+err.Error())
		},
	})
	return w
}

func (w *wire) sign(change func(t *api.Ticket)) string {
	ticket := api.Ticket{Item: "1001", User: "u", BizID: "b", Qty: 2, Epoch: 3, Path: api.PathRedis, Exp: handlerNow.UnixMilli() + 3000}
	if change != nil {
		change(&ticket)
	}
	return w.keys.Sign(ticket)
}

func toRefuse(t *api.Ticket) { t.Path = api.PathRefuse }

func (w *wire) do(method, target, body string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec.Result()
}

func problem(t *testing.T, resp *http.Response) api.Problem {
	t.Helper()
	var p api.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Fatalf("status %d: %v", resp.StatusCode, err)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	if p.Status != resp.StatusCode || p.Title == "" || p.Code == "" {
		t.Errorf("status %d with %+v", resp.StatusCode, p)
	}
	return p
}

func TestWhatIsRefusedBeforeTheOrders(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	ticket, refusal := w.sign(nil), w.sign(toRefuse)
	for name, test := range map[string]struct {
		method, target, body string
		headers              []string
		status               int
		code                 api.Code
	}{
		"no ticket":               {"POST", "/v1/orders", `{"qty":2}`, nil, 403, "bad_ticket"},
		"two tickets":             {"POST", "/v1/orders", `{"qty":2}`, []string{api.HeaderTicket, ticket, api.HeaderTicket, ticket}, 403, "bad_ticket"},
		"another's ticket":        {"POST", "/v1/orders", `{"qty":2}`, []string{api.HeaderTicket, api.RandomKeys().Sign(api.Ticket{})}, 403, "bad_ticket"},
		"late ticket":             {"POST", "/v1/orders", `{"qty":2}`, []string{api.HeaderTicket, w.sign(func(t *api.Ticket) { t.Exp = handlerNow.UnixMilli() })}, 503, "ticket_expired"},
		"place with path refuse":  {"POST", "/v1/orders", `{"qty":2}`, []string{api.HeaderTicket, refusal}, 400, "bad_request"},
		"another quantity":        {"POST", "/v1/orders", `{"qty":1}`, []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"no body":                 {"POST", "/v1/orders", ``, []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"no JSON":                 {"POST", "/v1/orders", `qty=2`, []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"unknown field":           {"POST", "/v1/orders", `{"qty":2,"price":1}`, []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"field twice":             {"POST", "/v1/orders", `{"qty":1,"qty":2}`, []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"something after":         {"POST", "/v1/orders", `{"qty":2} {}`, []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"long body":               {"POST", "/v1/orders", `{"qty":2}` + strings.Repeat(" ", 4<<10), []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"refuse without ticket":   {"POST", "/v1/orders/refuse", `{"qty":2,"code":"sold_out"}`, nil, 403, "bad_ticket"},
		"refuse with path redis":  {"POST", "/v1/orders/refuse", `{"qty":2,"code":"sold_out"}`, []string{api.HeaderTicket, ticket}, 400, "bad_request"},
		"refuse another quantity": {"POST", "/v1/orders/refuse", `{"qty":1,"code":"sold_out"}`, []string{api.HeaderTicket, refusal}, 400, "bad_request"},
		"refuse for a while":      {"POST", "/v1/orders/refuse", `{"qty":2,"code":"paused"}`, []string{api.HeaderTicket, refusal}, 400, "bad_request"},
		"refuse for no reason":    {"POST", "/v1/orders/refuse", `{"qty":2}`, []string{api.HeaderTicket, refusal}, 400, "bad_request"},
		"find without key":        {"GET", "/v1/orders?user=u", ``, nil, 400, "bad_request"},
		"find without user":       {"GET", "/v1/orders?biz_id=b", ``, nil, 400, "bad_request"},
		"find for two":            {"GET", "/v1/orders?user=u&user=v&biz_id=b", ``, nil, 400, "bad_request"},
		"find with a space":       {"GET", "/v1/orders?user=u+v&biz_id=b", ``, nil, 400, "bad_request"},
		"get without user":        {"GET", "/v1/orders/1", ``, nil, 400, "bad_request"},
		"get nonsense":            {"GET", "/v1/orders/1.5?user=u", ``, nil, 404, "no_such_order"},
		"pay without user":        {"POST", "/v1/orders/1/pay", `{}`, nil, 400, "bad_request"},
		"pay nonsense":            {"POST", "/v1/orders/1.5/pay", `{"user":"u"}`, nil, 404, "no_such_order"},
		"cancel for a list":       {"POST", "/v1/orders/1/cancel", `{"user":["u"]}`, nil, 400, "bad_request"},
		"no route":                {"GET", "/v2/orders", ``, nil, 404, "no_route"},
		"root":                    {"GET", "/", ``, nil, 404, "no_route"},
		"slash too many":          {"POST", "/v1/orders/", `{"qty":2}`, nil, 404, "no_route"},
		"wrong method":            {"DELETE", "/v1/orders/1", ``, nil, 405, "method_not_allowed"},
		"get of a change":         {"GET", "/v1/orders/1/pay", ``, nil, 405, "method_not_allowed"},
	} {
		resp := w.do(test.method, test.target, test.body, test.headers...)
		if p := problem(t, resp); p.Status != test.status || p.Code != test.code {
			t.Errorf("%s: got %d %s, want %d %s", name, p.Status, p.Code, test.status, test.code)
		}
		if got := resp.Header.Get("Retry-After"); (got == "1") != (test.status == 503) {
			t.Errorf("%s: Retry-After %q", name, got)
		}
		if got := resp.Header.Get("Allow"); (got != "") != (test.status == 405) {
			t.Errorf("%s: Allow %q", name, got)
		}
	}
	if len(w.orders.asked) != 0 || len(w.reported) != 0 {
		t.Errorf("asked %q, reported %q", w.orders.asked, w.reported)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.orders.cat = api.Catalogue{Now: 5, ETag: "e1"}
	for name, test := range map[string]struct {
		method, target, body, ticket string
		status                       int
		want                         string
	}{
		"place":     {"POST", "/v1/orders", ` {"qty":2} `, w.sign(nil), 201, `{"order_id":"1","biz_id":"","item":"","user":"","qty":0,"state":"created"}`},
		"refuse":    {"POST", "/v1/orders/refuse", `{"code":"ended","qty":2}`, w.sign(toRefuse), 201, `{"order_id":"1","biz_id":"","item":"","user":"","qty":0,"state":"created"}`},
		"get":       {"GET", "/v1/orders/1?user=u", ``, ``, 200, `{"order_id":"1","biz_id":"","item":"","user":"","qty":0,"state":"created"}`},
		"catalogue": {"GET", "/v1/catalogue", ``, ``, 200, `{"now":5,"sales":[]}`},
	} {
		resp := w.do(test.method, test.target, test.body, api.HeaderTicket, test.ticket)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != test.status || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %d %s", name, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
		if diff := cmp.Diff(test.want, string(body)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.orders.cat = api.Catalogue{Now: 5, ETag: "e1"}
	for field, status := range map[string]int{
		``:            200,
		`"e1"`:        304,
		` "e1" `:      304,
		`W/"e1"`:      304,
		`"e2"`:        200,
		`e1`:          200,
		`"e1`:         200,
		`*`:           200,
		`"e0", "e1"`:  200, // whole, and right
		`"`:           200,
		`""`:          200,
		`w/"e1"`:      200, // RFC 9110: W/ is case-sensitive
		`"e1""e1"`:    200,
		`"e1" ; q=01`: 200,
	} {
		resp := w.do("GET", "/v1/catalogue", "", "If-None-Match", field)
		if resp.StatusCode != status || resp.Header.Get("ETag") != `"e1"` {
			t.Errorf("%q: got %d, ETag %s, want %d", field, resp.StatusCode, resp.Header.Get("ETag"), status)
		}
	}
}

func TestFaultsAreReportedAndUnknown(t *testing.T) {
	t.Parallel()
	notDone := errors.Join(api.ErrFailed, errors.New("from a panic"))
	for name, f := range map[string]*fakeOrders{
		"panic":                    {panic: "index out of range"},
		"panic with an error":      {panic: notDone},
		"panic with a refusal":     {panic: &api.Refusal{Code: api.SoldOut}},
		"error of none":            {err: errors.New("disk full")},
		"not modified, not asked":  {err: api.ErrNotModified},
		"error of the standard's":  {err: http.ErrBodyNotAllowed},
		"panic of a closed answer": {panic: http.ErrAbortHandler},
	} {
		w := newWire(t)
		*w.orders = fakeOrders{err: f.err, panic: f.panic}
		for _, test := range []struct {
			op, method, target, body, ticket string
			status                           int
			code                             api.Code
		}{
			{"place", "POST", "/v1/orders", `{"qty":2}`, w.sign(nil), 504, "unknown_outcome"},
			{"refuse", "POST", "/v1/orders/refuse", `{"qty":2,"code":"sold_out"}`, w.sign(toRefuse), 504, "unknown_outcome"},
			{"pay", "POST", "/v1/orders/1/pay", `{"user":"u"}`, "", 504, "unknown_outcome"},
			{"cancel", "POST", "/v1/orders/1/cancel", `{"user":"u"}`, "", 504, "unknown_outcome"},
			{"find", "GET", "/v1/orders?user=u&biz_id=b", ``, "", 500, "internal_server_error"},
			{"get", "GET", "/v1/orders/1?user=u", ``, "", 500, "internal_server_error"},
			{"catalogue", "GET", "/v1/catalogue", ``, "", 500, "internal_server_error"},
		} {
			w.reported = nil
			p := problem(t, w.do(test.method, test.target, test.body, api.HeaderTicket, test.ticket))
			if p.Status != test.status || p.Code != test.code || p.Detail != "" {
				t.Errorf("%s %s: got %+v, want %d %s", name, test.op, p, test.status, test.code)
			}
			if len(w.reported) != 1 || !strings.HasPrefix(w.reported[0], test.op+": ") {
				t.Errorf("%s %s: reported %q", name, test.op, w.reported)
			}
		}
	}
}

// The gateway stops waiting when its ticket expires; what works on for it
// afterwards works for nobody.
func TestCallsEndInTime(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	for name, test := range map[string]struct {
		ticket time.Duration
		most   time.Duration
	}{
		"with the ticket":          {ticket: 2 * time.Second, most: 2 * time.Second},
		"before a far-off ticket":  {ticket: 24 * time.Hour, most: server.DefaultTimeout},
		"before an endless ticket": {ticket: 1<<63 - 1, most: server.DefaultTimeout},
	} {
		w.orders.left = 0
		ticket := w.sign(func(t *api.Ticket) { t.Exp = handlerNow.Add(test.ticket).UnixMilli() })
		if resp := w.do("POST", "/v1/orders", `{"qty":2}`, api.HeaderTicket, ticket); resp.StatusCode != 201 {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
		if got := w.orders.left; got <= 0 || got > test.most {
			t.Errorf("%s: the call had %v left, want %v at most", name, got, test.most)
		}
	}
	for _, target := range []string{"/v1/orders/1?user=u", "/v1/catalogue"} {
		w.orders.left = 0
		w.do("GET", target, "")
		if got := w.orders.left; got <= 0 || got > server.DefaultTimeout {
			t.Errorf("%s: the call had %v left", target, got)
		}
	}
}

func TestHandlerNeedsOrdersAndKeys(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]server.HandlerOptions{
		"no orders": {Keys: api.RandomKeys()},
		"no keys":   {Orders: &fakeOrders{}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: want a panic", name)
				}
			}()
			server.Handler(opt)
		}()
	}
}

func TestEveryWaitOfTheServerIsBounded(t *testing.T) {
	t.Parallel()
	s := server.HTTPServer("127.0.0.1:0", http.NotFoundHandler())
	for name, d := range map[string]time.Duration{
		"ReadHeaderTimeout": s.ReadHeaderTimeout, "ReadTimeout": s.ReadTimeout, "WriteTimeout": s.WriteTimeout, "IdleTimeout": s.IdleTimeout,
	} {
		if d <= 0 {
			t.Errorf("%s is not set", name)
		}
	}
	if s.MaxHeaderBytes != 16<<10 || s.Addr != "127.0.0.1:0" || s.Handler == nil {
		t.Errorf("MaxHeaderBytes %d, Addr %q, Handler %v", s.MaxHeaderBytes, s.Addr, s.Handler)
	}
	if s.WriteTimeout <= server.DefaultTimeout {
		t.Errorf("an answer may take %v, its writing included %v", server.DefaultTimeout, s.WriteTimeout)
	}
	// An idle connection must be closed by the client, never under a request.
	if s.IdleTimeout < 2*api.DefaultIdle {
		t.Errorf("the server keeps a connection for %v, the client for %v", s.IdleTimeout, api.DefaultIdle)
	}
}
