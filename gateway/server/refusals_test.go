package server

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/config"
)

// fails is a backend's answer to a purchase.
func fails(err error) func(*gateway) {
	return func(g *gateway) {
		g.orders.place = func(context.Context, api.Ticket) (api.Order, error) { return api.Order{}, err }
	}
}

func unchanged(err error) func(*gateway) {
	return func(g *gateway) {
		g.orders.change = func(string, string) (api.Order, error) { return api.Order{}, err }
	}
}

func with(r request, change func(*request)) request {
	change(&r)
	return r
}

// post is by user u.
func post(path string) request { return request{path: path, user: "u"} }

var shut = config.Rate{}

// rate is one request in a fortnight, after the first.
var rare = config.Rate{QPS: 1e-6, Burst: 1}

// Every refusal that this version gives: its status, its code, whether and when
// to come again, and all that is true of each.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const never, ever = 0, -1 // how long to wait: not at all, or some time
	type check func(*testing.T, answer)
	tests := map[string]struct {
		change func(*config.Config)
		setup  func(*gateway)
		before int // so many of the same request are made first
		ask    request
		status int
		code   string
		wait   time.Duration
		check  check
	}{
		"quantity zero":        {ask: with(purchase("u"), func(r *request) { r.body = `{"qty":0}` }), status: 400, code: "bad_request"},
		"two keys":             {ask: with(purchase("u"), func(r *request) { r.fields = []string{"Idempotency-Key: v"} }), status: 400, code: "bad_request"},
		"a key with a space":   {ask: with(purchase("u"), func(r *request) { r.key = "a b" }), status: 400, code: "bad_request"},
		"retry is yes":         {ask: with(purchase("u"), func(r *request) { r.fields = []string{"Rushgate-Retry: yes"} }), status: 400, code: "bad_request"},
		"retry is 1 and 0":     {ask: with(purchase("u"), func(r *request) { r.retry = true; r.fields = []string{"Rushgate-Retry: 0"} }), status: 400, code: "bad_request"},
		"retry is 0 and 1":     {ask: with(purchase("u"), func(r *request) { r.fields = []string{"Rushgate-Retry: 0", "Rushgate-Retry: 1"} }), status: 400, code: "bad_request"},
		"two users":            {ask: with(purchase("u"), func(r *request) { r.fields = []string{"X-User-Id: v"} }), status: 400, code: "bad_request"},
		"a user with a comma":  {ask: with(purchase("u"), func(r *request) { r.user = "a,b" }), status: 400, code: "bad_request"},
		"no biz_id":            {ask: with(get("/orders"), func(r *request) { r.user = "u" }), status: 400, code: "bad_request"},
		"two biz_ids":          {ask: with(get("/orders?biz_id=1&biz_id=2"), func(r *request) { r.user = "u" }), status: 400, code: "bad_request"},
		"dot segments":         {ask: get("/x/../items"), status: 400, code: "bad_request", check: closes},
		"no key":               {ask: with(purchase("u"), func(r *request) { r.key = "" }), status: 400, code: "idempotency_key_missing"},
		"nobody":               {ask: with(purchase("u"), func(r *request) { r.user = "" }), status: 401, code: "unauthenticated", check: has("WWW-Authenticate", "Rushgate")},
		"an untrusted peer":    {ask: with(purchase("u"), func(r *request) { r.peer = "192.0.2.1" }), status: 401, code: "unauthenticated"},
		"two users, untrusted": {ask: with(purchase("u"), func(r *request) { r.peer, r.fields = "192.0.2.1", []string{"X-User-Id: v"} }), status: 401, code: "unauthenticated"},
		"a blocked user":       {change: func(c *config.Config) { c.Blacklist.Users = []string{"u"} }, ask: purchase("u"), status: 403, code: "blacklisted"},
		"a blocked address":    {change: func(c *config.Config) { c.Blacklist.IPs = []string{"192.0.2.0/24"} }, ask: with(get("/items"), func(r *request) { r.peer = "192.0.2.1" }), status: 403, code: "blacklisted"},
		"unknown item":         {ask: get("/items/nope"), status: 404, code: "no_such_item"},
		"unknown item to buy":  {ask: with(purchase("u"), func(r *request) { r.path = "/seckill/nope" }), status: 404, code: "no_such_item"},
		"unknown order":        {ask: with(get("/orders/1"), func(r *request) { r.user = "u" }), status: 404, code: "no_such_order"},
		"unknown biz_id":       {ask: with(get("/orders?biz_id=1"), func(r *request) { r.user = "u" }), status: 404, code: "no_such_order"},
		"unknown order to pay": {setup: unchanged(api.ErrNotFound), ask: post("/orders/1/pay"), status: 404, code: "no_such_order"},
		"unknown path":         {ask: get("/nope"), status: 404, code: "no_route"},
		"unknown module":       {ask: get("/_rushgate/nope.js"), status: 404, code: "no_route"},
		"half a path":          {ask: post("/seckill/"), status: 404, code: "no_route"},
		"too much of a path":   {ask: post("/seckill/1001/x"), status: 404, code: "no_route"},
		"unknown action":       {ask: post("/orders/1/eat"), status: 404, code: "no_route"},
		"GET to buy":           {ask: get("/seckill/1001"), status: 405, code: "method_not_allowed", check: has("Allow", "POST")},
		"POST to read":         {ask: post("/items"), status: 405, code: "method_not_allowed", check: has("Allow", "GET, HEAD")},
		"TRACE":                {ask: with(get("/items"), func(r *request) { r.method = "TRACE" }), status: 405, code: "method_not_allowed", check: has("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")},
		"a second purchase":    {setup: fails(&api.Refusal{Code: api.Duplicate}), ask: purchase("u"), status: 409, code: "duplicate"},
		"sold out by the mark": {ask: with(purchase("u"), func(r *request) { r.path = "/seckill/out" }), status: 409, code: "sold_out"},
		"more than there is":   {setup: fails(&api.Refusal{Code: api.SoldOut}), ask: purchase("u"), status: 409, code: "sold_out"},
		"paid before": {setup: unchanged(&api.Refusal{Code: api.OrderState, State: api.StatePaid}), ask: post("/orders/1/pay"), status: 409, code: "order_state", check: func(t *testing.T, a answer) {
			if a.member.State != "paid" {
				t.Errorf("state %q", a.member.State)
			}
		}},
		"dead letter":       {setup: fails(&api.Refusal{Code: api.Failed}), ask: purchase("u"), status: 409, code: "order_failed"},
		"over":              {ask: with(purchase("u"), func(r *request) { r.path = "/seckill/late" }), status: 410, code: "ended"},
		"too large a body":  {change: func(c *config.Config) { c.Server.BodyBytes = 10 }, ask: with(purchase("u"), func(r *request) { r.body = strings.Repeat("x", 11) }), status: 413, code: "content_too_large", check: closes},
		"too long a target": {ask: get("/" + strings.Repeat("x", 20<<10)), status: 414, code: "uri_too_long", check: closes},
		"an expectation":    {ask: with(purchase("u"), func(r *request) { r.fields = []string{"Expect: miracles"} }), status: 417, code: "expectation_failed", check: closes},
		"another quantity":  {setup: fails(api.ErrMismatch), ask: purchase("u"), status: 422, code: "idempotency_mismatch"},
		"too early": {ask: with(purchase("u"), func(r *request) { r.path = "/seckill/early" }), status: 425, code: "not_started", wait: ever, check: func(t *testing.T, a answer) {
			if wait := a.member.StartsAt - a.member.Now; wait <= 0 || wait != *a.member.RetryAfterMS {
				t.Errorf("starts in %d ms, told to come in %d", wait, *a.member.RetryAfterMS)
			}
			if !strings.HasPrefix(a.head, "HTTP/1.1 425 Too Early\r\n") {
				t.Errorf("status line: %.40s", a.head)
			}
		}},
		"too early, repeat":   {ask: with(purchase("u"), func(r *request) { r.path, r.retry = "/seckill/early", true }), status: 425, code: "not_started", wait: ever},
		"too early to pay":    {setup: unchanged(&api.Refusal{Code: api.NotStarted}), ask: post("/orders/1/pay"), status: 425, code: "not_started", wait: time.Second},
		"address limit":       {change: func(c *config.Config) { c.Limits.IP.QPS, c.Limits.IP.Burst = rare.QPS, rare.Burst }, before: 1, ask: with(get("/items"), func(r *request) { r.peer = "192.0.2.1" }), status: 429, code: "limited", wait: ever, check: usedUp("ip")},
		"user limit":          {change: func(c *config.Config) { c.Limits.User = rare }, before: 1, ask: purchase("u"), status: 429, code: "limited", wait: ever, check: usedUp("user")},
		"item limit":          {change: func(c *config.Config) { c.Limits.Items["1001"] = rare }, before: 1, ask: purchase("u"), status: 429, code: "limited", wait: ever, check: usedUp("item")},
		"global limit":        {change: func(c *config.Config) { c.Limits.Global.QPS, c.Limits.Global.Burst = rare.QPS, rare.Burst }, before: 1, ask: purchase("u"), status: 429, code: "limited", wait: ever, check: usedUp("global")},
		"addresses closed":    {change: func(c *config.Config) { c.Limits.IP.QPS = 0 }, ask: with(get("/items"), func(r *request) { r.peer = "192.0.2.1" }), status: 429, code: "limited", check: closedBy("ip")},
		"users closed":        {change: func(c *config.Config) { c.Limits.User = config.Rate{Burst: 5} }, ask: purchase("u"), status: 429, code: "limited", check: closedBy("user")},
		"item closed":         {change: func(c *config.Config) { c.Limits.Items["1001"] = shut }, ask: purchase("u"), status: 429, code: "limited", check: closedBy("item")},
		"all closed":          {change: func(c *config.Config) { c.Limits.Global.QPS = 0 }, ask: purchase("u"), status: 429, code: "limited", check: closedBy("global")},
		"too many fields":     {change: func(c *config.Config) { c.Server.Fields = 5 }, ask: with(get("/items"), func(r *request) { r.fields = strings.Split("A: 1,B: 1,C: 1,D: 1,E: 1", ",") }), status: 431, code: "request_header_fields_too_large", check: closes},
		"too long fields":     {ask: with(get("/items"), func(r *request) { r.fields = []string{"A: " + strings.Repeat("x", 20<<10)} }), status: 431, code: "request_header_fields_too_large", check: closes},
		"a bug in a look-up":  {setup: func(g *gateway) { g.orders.get = func(string, string) (api.Order, error) { panic("a bug") } }, ask: with(get("/orders/1"), func(r *request) { r.user = "u" }), status: 500, code: "internal_server_error"},
		"unknown method":      {ask: with(get("/items"), func(r *request) { r.method = "BREW" }), status: 501, code: "not_implemented", check: closes},
		"not an HTTP request": {ask: with(get("/items"), func(r *request) { r.fields = []string{"no colon"} }), status: 400, code: "bad_request", check: closes},
		"not done":            {setup: fails(api.ErrFailed), ask: purchase("u"), status: 503, code: "overloaded", wait: time.Second},
		"backend down":        {setup: (*gateway).goDown, ask: purchase("u"), status: 503, code: "overloaded", wait: time.Second},
		"look-up not done": {setup: func(g *gateway) {
			g.orders.find = func(context.Context) (api.Order, error) { return api.Order{}, api.ErrFailed }
		}, ask: with(get("/orders?biz_id=1"), func(r *request) { r.user = "u" }), status: 503, code: "overloaded", wait: time.Second},
		"DB path closed": {change: func(c *config.Config) { c.Breaker.DBPath.QPS = 0 }, setup: func(g *gateway) {
			g.orders.place = func(context.Context, api.Ticket) (api.Order, error) { return api.Order{}, &api.Stale{Epoch: 9} }
		}, ask: purchase("u"), status: 503, code: "overloaded", wait: time.Second},
		"paused":                {ask: with(purchase("u"), func(r *request) { r.path = "/seckill/paused" }), status: 503, code: "paused", wait: time.Second},
		"answer lost":           {setup: fails(api.ErrUnknown), ask: purchase("u"), status: 504, code: "unknown_outcome", wait: time.Second, check: says("Idempotency-Key")},
		"nameless error":        {setup: fails(errors.New("disk")), ask: purchase("u"), status: 504, code: "unknown_outcome", wait: time.Second, check: says("Idempotency-Key")},
		"refused, and in doubt": {setup: fails(errors.Join(&api.Refusal{Code: api.SoldOut}, api.ErrUnknown)), ask: purchase("u"), status: 504, code: "unknown_outcome", wait: time.Second},
		"a code of tomorrow":    {setup: fails(&api.Refusal{Code: "on_the_moon"}), ask: purchase("u"), status: 504, code: "unknown_outcome", wait: time.Second},
		"a bug in a purchase": {setup: func(g *gateway) {
			g.orders.place = func(context.Context, api.Ticket) (api.Order, error) { panic("a bug") }
		}, ask: purchase("u"), status: 504, code: "unknown_outcome", wait: time.Second},
		"payment's answer lost": {setup: unchanged(api.ErrUnknown), ask: post("/orders/1/pay"), status: 504, code: "unknown_outcome", wait: time.Second, check: says("order")},
		"a bug in a payment":    {setup: func(g *gateway) { g.orders.change = func(string, string) (api.Order, error) { panic("a bug") } }, ask: post("/orders/1/cancel"), status: 504, code: "unknown_outcome", wait: time.Second, check: says("order")},
		"payment, nameless":     {setup: unchanged(errors.New("disk")), ask: post("/orders/1/pay"), status: 504, code: "unknown_outcome", wait: time.Second},
		"payment, not done":     {setup: unchanged(api.ErrFailed), ask: post("/orders/1/pay"), status: 503, code: "overloaded", wait: time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, tt.change)
			if tt.setup != nil {
				tt.setup(g)
			}
			for range tt.before {
				if a := g.send(tt.ask); a.status >= 300 {
					t.Fatalf("before: %d %s", a.status, a.body)
				}
			}
			a := g.send(tt.ask)
			if a.status != tt.status || a.member.Code != tt.code {
				t.Fatalf("%d %s, want %d %s", a.status, a.body, tt.status, tt.code)
			}
			isProblem(t, a)
			switch ms := a.member.RetryAfterMS; {
			case tt.wait == never && ms != nil:
				t.Errorf("come again in %d ms, and it would not help", *ms)
			case tt.wait != never && (ms == nil || *ms <= 0):
				t.Error("it does not say when to come again")
			case tt.wait > 0 && *ms != tt.wait.Milliseconds():
				t.Errorf("come again in %d ms, want %v", *ms, tt.wait)
			}
			if tt.check != nil {
				tt.check(t, a)
			}
		})
	}
}

var traceIDs = regexp.MustCompile(`^[0-9a-f]{32}$`)

// isProblem checks what is true of every refusal.
func isProblem(t *testing.T, a answer) {
	t.Helper()
	m := a.member
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("Content-Type: %s", ct)
	}
	if cc := a.header.Get("Cache-Control"); cc != "no-store" {
		t.Errorf("Cache-Control: %s", cc)
	}
	if m.Type != "about:blank" || m.Status != a.status || m.Title != http.StatusText(a.status) || m.Detail == "" || !traceIDs.MatchString(m.TraceID) {
		t.Errorf("members %+v", m)
	}
	retry := a.header.Values("Retry-After")
	if m.RetryAfterMS == nil {
		if len(retry) != 0 {
			t.Errorf("Retry-After %q, and the body has no retry_after_ms", retry)
		}
		return
	}
	// Whole seconds, at least one, and never earlier than the finer word.
	if want := strconv.FormatInt((*m.RetryAfterMS+999)/1000, 10); len(retry) != 1 || retry[0] != want || want == "0" {
		t.Errorf("Retry-After %q, want %s", retry, want)
	}
}

func has(name, value string) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		t.Helper()
		if got := a.header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

func closes(t *testing.T, a answer) {
	t.Helper()
	if !strings.Contains(a.head+"\r\n", "\r\nConnection: close\r\n") {
		t.Errorf("the connection stays open after\n%s", a.head)
	}
}

func says(word string) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		t.Helper()
		if !strings.Contains(a.member.Detail, word) {
			t.Errorf("detail %q does not speak of the %s", a.member.Detail, word)
		}
	}
}

// usedUp checks the fields of a scope that is used up, in the spelling of their
// draft. The wait they tell is Retry-After's.
func usedUp(scope string) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		t.Helper()
		if a.member.Scope != scope {
			t.Errorf("scope %q, want %q", a.member.Scope, scope)
		}
		want := []string{"\r\nRateLimit-Policy: \"" + scope + "\";q=1;w=1000000\r\n", "\r\nRateLimit: \"" + scope + "\";r=0;t=" + a.header.Get("Retry-After") + "\r\n"}
		for _, w := range want {
			if !strings.Contains(a.head+"\r\n", w) {
				t.Errorf("%q is not in\n%s", w, a.head)
			}
		}
	}
}

func closedBy(scope string) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		t.Helper()
		if a.member.Scope != scope {
			t.Errorf("scope %q, want %q", a.member.Scope, scope)
		}
		for _, w := range []string{"\r\nRateLimit-Policy: \"" + scope + "\";q=0\r\n", "\r\nRateLimit: \"" + scope + "\";r=0\r\n"} {
			if !strings.Contains(a.head+"\r\n", w) {
				t.Errorf("%q is not in\n%s", w, a.head)
			}
		}
	}
}

// goDown takes the backend away, and lets the gateway know.
func (g *gateway) goDown() {
	g.orders.mu.Lock()
	g.orders.down = true
	g.orders.mu.Unlock()
	if g.catalogue.Refresh(g.t.Context()) == nil {
		g.t.Error("the backend is still there")
	}
}
