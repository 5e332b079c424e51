package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate/backend/api"
)

// What a shop's own service says of an order's state stands in the answer as it
// is, and never ends its string.
func TestBackendBreaksTheJSON(t *testing.T) {
	state := ""
	g := open(t, generous)
	g.orders.change = func(string, string) (api.Order, error) {
		return api.Order{}, &api.Refusal{Code: api.OrderState, State: api.State(state)}
	}
	for _, state = range []string{"\"}", `\`, "\x07\x7f\x00", "\u2028", "<script>", "käuflich 秒杀", strings.Repeat("x", 10_000)} {
		if a := g.send(post("/orders/1/pay")); a.status != 409 || a.member.State != state {
			t.Errorf("%q arrived as %q: %s", state, a.member.State, a.body)
		}
	}
}

// Whatever a refusal holds, it is one JSON object that says just that.
func TestRefusalIsNoJSON(t *testing.T) {
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		r := refusal{
			code: text.Draw(t, "code"), status: rapid.IntRange(400, 599).Draw(t, "status"), detail: text.Draw(t, "detail"),
			state: text.Draw(t, "state"),
		}
		var got problemMembers
		body := r.appendBody(nil, problem{status: r.status}, []byte("0af7651916cd43dd8448eb211c80319c"))
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if got.Code != r.code || got.Status != r.status || got.Detail != r.detail || got.State != r.state {
			t.Fatalf("%+v became %s", r, body)
		}
	})
}

// The heads that are encoded beforehand say what the table says.
func TestCodesAreEncodedWrong(t *testing.T) {
	for code, p := range problems {
		r := refusal{code: code}
		var got problemMembers
		if err := json.Unmarshal(r.appendBody(nil, p, nil), &got); err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		if got.Code != code || got.Status != p.status || got.Detail != p.detail || got.Title != phrase(p.status) || got.Title == "" {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

// No wait is told shorter than it is, in either unit.
func TestWaitIsToldTooShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.Int64Range(1, int64(400*24*time.Hour)).Draw(t, "wait"))
		ms, s := time.Duration(wholeMillis(wait))*time.Millisecond, time.Duration(wholeSeconds(wait))*time.Second
		if ms < wait || ms >= wait+time.Millisecond || s < wait || s >= wait+time.Second {
			t.Fatalf("%v is told as %v and %v", wait, ms, s)
		}
	})
}
