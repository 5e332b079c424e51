package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// desk is an admin listener whose reloads are counted.
type desk struct {
	Options
	log     bytes.Buffer
	reloads int
	err     error
}

func newDesk() *desk {
	d := &desk{}
	d.Registry = prometheus.NewRegistry()
	d.Log = slog.New(slog.NewTextHandler(&d.log, nil))
	d.Config = func(w io.Writer) error {
		_, err := io.WriteString(w, `{"hash":"abc"}`)
		return errors.Join(err, d.err)
	}
	d.Reload = func(ctx context.Context) (any, error) {
		d.reloads++
		if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
			return nil, errors.New("a reload without a bound, or cut short by its caller")
		}
		return map[string]any{"hash": "abc", "changes": []string{"limits.user.qps"}}, d.err
	}
	return d
}

// sent is a request as the listener sees it; change may be nil.
func sent(t *testing.T, method, path string, change func(*http.Request)) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "127.0.0.1:9090"
	if change != nil {
		change(r)
	}
	return r
}

func (d *desk) answer(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	New(d.Options).Handler.ServeHTTP(w, r)
	return w
}

func field(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}

func host(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
func peer(p string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = p } }

// Without a token the machine itself may ask, and nobody through it: no browser
// page of another site, no name that was made to point here, no proxy.
func TestStrangerReloads(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*http.Request)
		may    bool
	}{
		"from here":                {nil, true},
		"from here, IPv6":          {peer("[::1]:50000"), true},
		"from here, IPv4 as IPv6":  {peer("[::ffff:127.0.0.1]:50000"), true},
		"to localhost":             {host("localhost:9090"), true},
		"to LOCALHOST":             {host("LOCALHOST"), true},
		"to ::1":                   {host("[::1]:9090"), true},
		"to ::1 without a port":    {host("[::1]"), true},
		"to another address":       {host("10.0.0.7:9090"), true},
		"browser's address line":   {field("Sec-Fetch-Site", "none"), true},
		"page of this listener":    {field("Origin", "http://127.0.0.1:9090"), true},
		"same origin":              {field("Sec-Fetch-Site", "same-origin"), true},
		"from elsewhere":           {peer("192.0.2.1:50000"), false},
		"from nowhere":             {peer("@"), false},
		"a rebound name":           {host("evil.test:9090"), false},
		"a name like an address":   {host("127.0.0.1.evil.test"), false},
		"a name like localhost":    {host("localhost.evil.test"), false},
		"no host":                  {host(""), false},
		"page of another site":     {field("Sec-Fetch-Site", "cross-site"), false},
		"page of another port":     {field("Sec-Fetch-Site", "same-site"), false},
		"another origin":           {field("Origin", "http://evil.test"), false},
		"another port's origin":    {field("Origin", "http://127.0.0.1:8080"), false},
		"origin null":              {field("Origin", "null"), false},
		"two origins":              {field("Origin", "http://127.0.0.1:9090", "http://evil.test"), false},
		"through a proxy":          {field("X-Forwarded-For", "192.0.2.1"), false},
		"through a standard proxy": {field("Forwarded", "for=192.0.2.1"), false},
		"through any proxy":        {field("Via", "1.1 edge"), false},
	} {
		for _, what := range []string{"POST /admin/reload", "GET /admin/config"} {
			t.Run(name+", "+what, func(t *testing.T) {
				d := newDesk()
				method, path, _ := strings.Cut(what, " ")
				w := d.answer(sent(t, method, path, tt.change))
				if want := map[bool]int{true: 200, false: 403}[tt.may]; w.Code != want {
					t.Errorf("%d %s, want %d", w.Code, w.Body, want)
				}
				if did := d.reloads == 1; method == "POST" && did != tt.may {
					t.Errorf("reloaded: %v", did)
				}
				if !tt.may {
					wantProblem(t, w, "forbidden")
				}
			})
		}
	}
}

// With a token it alone counts, and it may change while the listener runs.
func TestTokenIsGuessed(t *testing.T) {
	d := newDesk()
	token := "s3cret"
	d.Token = func() []byte { return []byte(token) }
	for name, tt := range map[string]struct {
		token  string
		change func(*http.Request)
		may    bool
	}{
		"right":                   {"s3cret", field("Authorization", "Bearer s3cret"), true},
		"right, from elsewhere":   {"s3cret", func(r *http.Request) { peer("192.0.2.1:1")(r); field("Authorization", "bearer  s3cret ")(r) }, true},
		"replaced":                {"new", field("Authorization", "Bearer new"), true},
		"the one before":          {"new", field("Authorization", "Bearer s3cret"), false},
		"none, from this machine": {"s3cret", nil, false},
		"beginning of it":         {"s3cret", field("Authorization", "Bearer s3c"), false},
		"longer":                  {"s3cret", field("Authorization", "Bearer s3cret1"), false},
		"another scheme":          {"s3cret", field("Authorization", "Basic s3cret"), false},
		"bare":                    {"s3cret", field("Authorization", "s3cret"), false},
		"empty file":              {"", field("Authorization", "Bearer "), false},
		"empty file, none sent":   {"", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			token = tt.token
			before := d.reloads
			w := d.answer(sent(t, "POST", "/admin/reload", tt.change))
			if did := d.reloads > before; did != tt.may || (w.Code == 200) != tt.may {
				t.Fatalf("%d, reloaded: %v", w.Code, did)
			}
			if !tt.may {
				wantProblem(t, w, "unauthenticated")
				if w.Code != 401 || w.Header().Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%d %v", w.Code, w.Header())
				}
			}
		})
	}
}

func wantProblem(t *testing.T, w *httptest.ResponseRecorder, code string) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != "application/problem+json" ||
		p.Code != code || p.Status != w.Code || p.Detail == "" {
		t.Errorf("%v: %v %s", err, w.Header(), w.Body)
	}
	return p
}

// Each reload leaves a line: who, what, and how it ended. A bad file is told in
// its own words.
func TestReloadLeavesNoTrace(t *testing.T) {
	d := newDesk()
	w := d.answer(sent(t, "POST", "/admin/reload", nil))
	if w.Code != 200 || w.Body.String() != `{"changes":["limits.user.qps"],"hash":"abc"}`+"\n" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	d.err = errors.New("rushgate.yaml:3: limits.user.qps: -1 is negative")
	w = d.answer(sent(t, "POST", "/admin/reload", nil))
	if p := wantProblem(t, w, "unprocessable_content"); p.Status != 422 || p.Detail != d.err.Error() {
		t.Errorf("%+v", p)
	}
	d.answer(sent(t, "POST", "/admin/reload", peer("192.0.2.1:1")))
	lines := strings.Split(strings.TrimSpace(d.log.String()), "\n")
	for i, want := range []string{"result=ok", "result=failed", "result=refused"} {
		if i >= len(lines) || !strings.Contains(lines[i], want) || !strings.Contains(lines[i], "peer=1") || !strings.Contains(lines[i], "reload") {
			t.Fatalf("want %s in line %d of\n%s", want, i+1, d.log.String())
		}
	}
	if !strings.Contains(lines[1], "is negative") {
		t.Error(lines[1])
	}
}

// Who asked may go away; the reload is finished, and told as it was.
func TestCallerCutsAReloadShort(t *testing.T) {
	d := newDesk()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w := d.answer(sent(t, "POST", "/admin/reload", nil).WithContext(gone))
	if w.Code != 200 || !strings.Contains(d.log.String(), "result=ok") {
		t.Errorf("%d %s\n%s", w.Code, w.Body, d.log.String())
	}
}

func TestGuessesFillTheLog(t *testing.T) {
	d := newDesk()
	d.Token = func() []byte { return []byte("s3cret") }
	handler := New(d.Options).Handler
	for range 1000 {
		handler.ServeHTTP(httptest.NewRecorder(), sent(t, "POST", "/admin/reload", nil))
	}
	if n := strings.Count(d.log.String(), "\n"); n == 0 || n > 50 || strings.Contains(d.log.String(), "s3cret") {
		t.Errorf("%d lines", n)
	}
}

// Half a configuration is never shown.
func TestConfigurationBreaksOff(t *testing.T) {
	d := newDesk()
	if w := d.answer(sent(t, "GET", "/admin/config", nil)); w.Code != 200 || w.Body.String() != `{"hash":"abc"}` || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	d.err = errors.New("no such value")
	wantProblem(t, d.answer(sent(t, "GET", "/admin/config", nil)), "internal_server_error")
}

// A change is asked for by POST, and what is not offered is not there.
func TestReloadByGET(t *testing.T) {
	d := newDesk()
	if w := d.answer(sent(t, "GET", "/admin/reload", nil)); w.Code != 405 || d.reloads != 0 {
		t.Errorf("%d, %d reloads", w.Code, d.reloads)
	}
	for _, what := range []string{"POST /admin/reload", "GET /admin/config"} {
		method, path, _ := strings.Cut(what, " ")
		if w := (&desk{Options: Options{Registry: d.Registry}}).answer(sent(t, method, path, nil)); w.Code != 404 {
			t.Errorf("%s without a function: %d", what, w.Code)
		}
	}
}
