package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// attempts is how often the page asks before it says so.
const attempts = 8

// Every code has its words, is repeated as often as makes sense, and unknown is
// never told as failure.
func TestOutcomesInWords(t *testing.T) {
	cases := []struct {
		status int
		code   string
		more   map[string]any
		kind   string // how it ends
		asked  int    // how many requests that takes
		text   string // in what the page says
	}{
		{409, "sold_out", nil, "refused", 1, "Sold out."},
		{409, "duplicate", nil, "refused", 1, "all that one buyer may take"},
		{409, "order_failed", nil, "refused", 1, "The order could not be made."},
		{410, "ended", nil, "refused", 1, "This sale has ended."},
		{422, "idempotency_mismatch", nil, "refused", 1, "Start a new purchase."},
		{400, "bad_request", nil, "refused", 1, "didn’t understand"},
		{400, "idempotency_key_missing", nil, "refused", 1, "without its key"},
		{401, "unauthenticated", nil, "refused", 1, "Sign in first."},
		{403, "blacklisted", nil, "refused", 1, "You are barred"},
		{403, "forbidden", nil, "refused", 1, "aren’t allowed"},
		{404, "no_such_item", nil, "refused", 1, "no such item"},
		{404, "no_route", nil, "refused", 1, "nothing at this address"},
		{405, "method_not_allowed", nil, "refused", 1, "(method_not_allowed)"},
		{413, "content_too_large", nil, "refused", 1, "(content_too_large)"},
		{501, "not_implemented", nil, "refused", 1, "(not_implemented)"},
		{508, "loop_detected", nil, "refused", 1, "(loop_detected)"},
		{403, "", nil, "refused", 1, "(http_403)"},
		{425, "not_started", map[string]any{"starts_at": int64(1) << 45, "now": 1}, "failed", 1, "hasn’t started yet by the server’s clock"},
		{429, "limited", map[string]any{"scope": "ip"}, "failed", attempts, "from your network"},
		{429, "limited", map[string]any{"scope": "user"}, "failed", attempts, "You asked too often."},
		{429, "limited", map[string]any{"scope": "item"}, "failed", attempts, "Very many want this item"},
		{429, "limited", map[string]any{"scope": "global"}, "failed", attempts, "The shop is very busy"},
		{429, "", nil, "failed", attempts, "(http_429)"},
		{503, "overloaded", nil, "failed", attempts, "can’t take more orders"},
		{503, "draining", nil, "failed", attempts, "being restarted"},
		{503, "paused", nil, "failed", attempts, "The sale is paused."},
		{408, "request_timeout", nil, "failed", attempts, "took too long"},
		{409, "in_progress", nil, "unknown", attempts, "still being worked on"},
		{502, "upstream_failed", nil, "unknown", attempts, "didn’t answer properly"},
		{504, "unknown_outcome", nil, "unknown", attempts, "couldn’t tell in time"},
		{500, "", nil, "unknown", attempts, "(http_500)"},
		{503, "", nil, "unknown", attempts, "(http_503)"},
	}
	s := newStub(t, "")
	s.freshConnections()
	s.sell(s.openItem("1001"))
	tab := open(t, s, calm)
	for _, c := range cases {
		t.Run(fmt.Sprint(c.status, c.code, c.more["scope"]), func(t *testing.T) {
			s.script(refuse(c.status, c.code, c.more))
			buyAnew(t, tab)
			text := ended(t, tab, c.kind)
			if !strings.Contains(text, c.text) {
				t.Errorf("the page says %q, want %q in it", text, c.text)
			}
			head := map[string]string{"failed": "Not bought.", "unknown": "Not known yet:"}[c.kind]
			if !strings.HasPrefix(text, head) {
				t.Errorf("the page says %q, want it to begin with %q", text, head)
			}
			for range c.asked {
				next(t, tab, s.posts)
			}
			if n := len(s.posts); n != 0 {
				t.Errorf("%d requests more than %d", n, c.asked)
			}
		})
	}
}

// After an unknown end "Ask again" repeats the key, marked, and takes whatever
// is the truth by then.
func TestUnknownOutcomeIsAskedAgain(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	s.script(refuse(504, "unknown_outcome", nil))
	tab := open(t, s, calm)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
	ended(t, tab, "unknown")
	if got := js[string](t, tab, `return document.querySelector('[data-again]').textContent`); got != "Ask again" {
		t.Errorf("the button says %q", got)
	}
	s.script(made(s.order("1", "created")))
	do(t, tab, chromedp.Click(`[data-again]`))
	ended(t, tab, "order")
	checkRepeats(t, tab, s, attempts+1)
}

// A refusal that is about this request alone (signed out meanwhile, say) doesn't
// answer for an earlier one that was lost.
func TestLaterRefusalDoesNotSettleUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		then http.HandlerFunc
		kind string
		kept bool
	}{
		"signed out":  {refuse(401, "unauthenticated", nil), "unknown", true},
		"blacklisted": {refuse(403, "blacklisted", nil), "unknown", true},
		"sold out":    {refuse(409, "sold_out", nil), "refused", false},
		"ended":       {refuse(410, "ended", nil), "refused", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, "")
			s.script(refuse(504, "unknown_outcome", nil), c.then)
			type end struct {
				Kind string
				Kept bool
			}
			got := js[end](t, blank(t, s), `
			  const { buy, Ledger } = await m('rushgate');
			  const ledger = new Ledger();
			  const { kind } = await buy('1001', { user: 'u', ledger, random: () => 0 });
			  return { Kind: kind, Kept: ledger.pending('u', '1001') !== null };`)
			if got != (end{c.kind, c.kept}) {
				t.Errorf("it ended as %+v, want %+v", got, end{c.kind, c.kept})
			}
		})
	}
}
