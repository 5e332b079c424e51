package web

import (
	"context"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"time"
)

var quotedV7 = regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$`)

// Whatever the first answer was that asked to ask again, the repeat has the
// same key and the same body, and says that it is one; the first doesn't.
func TestRepeatsAreMarked(t *testing.T) {
	s := newStub(t, "")
	s.freshConnections()
	s.sell(s.openItem("1001"))
	tab := open(t, s, calm)
	for name, first := range map[string]http.HandlerFunc{
		"unknown outcome":      refuse(504, "unknown_outcome", nil),
		"connection lost":      hangUp,
		"answer cut short":     cutShort,
		"a proxy's error page": answer(502, "text/html", "<h1>Bad Gateway</h1>"),
		"captive portal":       answer(200, "text/html", "<h1>Welcome</h1>"),
		"in progress":          refuse(409, "in_progress", nil),
		"overloaded":           refuse(503, "overloaded", nil),
		"limited":              refuse(429, "limited", map[string]any{"scope": "user", "retry_after_ms": 10}),
		"paused":               refuse(503, "paused", nil),
		"not started":          refuse(425, "not_started", map[string]any{"starts_at": 1, "now": 0}),
	} {
		t.Run(name, func(t *testing.T) {
			s.script(first, first, made(s.order("1", "created")))
			buyAnew(t, tab)
			ended(t, tab, "order")
			checkRepeats(t, tab, s, 3)
		})
	}
}

// checkRepeats takes n purchases and holds them to one key, marked from the
// second on.
func checkRepeats(t *testing.T, tab context.Context, s *stub, n int) {
	t.Helper()
	one := next(t, tab, s.posts)
	if one.Retry != "" || !quotedV7.MatchString(one.Key) || one.Body != `{"qty":1}` || one.CTy != "application/json" || one.User == "" {
		t.Errorf("the first request is %+v", one)
	}
	for range n - 1 {
		again := next(t, tab, s.posts)
		if again.Retry != "1" {
			t.Errorf("a repeat carries Rushgate-Retry %q, want 1", again.Retry)
		}
		if again.Key != one.Key || again.Body != one.Body || again.User != one.User {
			t.Errorf("a repeat is %+v, the first was %+v", again, one)
		}
	}
	if more := len(s.posts); more != 0 {
		t.Errorf("%d requests more than %d", more, n)
	}
}

// A purchase that is sent before the start waits for it, by the server's clock.
func TestTooEarlyWaitsForTheStart(t *testing.T) {
	s := newStub(t, "")
	s.skew = -2 * time.Hour
	var start atomic.Int64
	early := func(w http.ResponseWriter, r *http.Request) {
		now := s.now().UnixMilli()
		start.Store(now + 1000)
		refuse(425, "not_started", map[string]any{"starts_at": now + 1000, "now": now})(w, r)
	}
	s.script(early, made(s.order("1", "created")))
	tab := blank(t, s)
	kind := js[string](t, tab, `
	  const { buy, ServerClock } = await m('rushgate');
	  const clock = new ServerClock().start();
	  await clock.ready;
	  const end = await buy('1001', { clock, random: () => 0 });
	  clock.stop();
	  return end.kind;`)
	if kind != "order" {
		t.Errorf("it ended as %q", kind)
	}
	next(t, tab, s.posts)
	if p := next(t, tab, s.posts); p.At < start.Load() {
		t.Errorf("the repeat came %d ms before the start", start.Load()-p.At)
	}
	if n := len(s.posts); n != 0 {
		t.Errorf("%d requests more than 2", n)
	}
}

// Told to wait longer than anyone stays, it ends as not done instead of holding
// the buyer.
func TestWaitIsBounded(t *testing.T) {
	s := newStub(t, "")
	s.script(refuse(429, "limited", map[string]any{"scope": "global", "retry_after_ms": 3_600_000}))
	tab := blank(t, s)
	type end struct{ Kind, Code string }
	got := js[end](t, tab, `
	  const { buy } = await m('rushgate');
	  const { kind, code } = await buy('1001');
	  return { Kind: kind, Code: code };`)
	if got != (end{"failed", "limited"}) {
		t.Errorf("it ended as %+v, want failed, limited", got)
	}
	if n := len(s.posts); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}
