package web

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// bought opens the page and buys order 1.
func bought(t *testing.T, s *stub) context.Context {
	t.Helper()
	s.sell(s.openItem("1001"))
	s.script(made(s.order("1", "created")))
	tab := open(t, s, calm)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`), chromedp.WaitEnabled(`[data-pay="1"]`))
	return tab
}

// Pay and cancel show where the order stands afterwards, whatever the answer
// to them was.
func TestPayAndCancel(t *testing.T) {
	order := func(state string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, (&stub{}).order("1", state)) }
	}
	for name, c := range map[string]struct {
		press        string
		answer, then http.HandlerFunc // to the button, and to the look after it
		state, text  string
	}{
		"paid":               {"pay", order("paid"), nil, "paid", ""},
		"cancelled":          {"cancel", order("cancelled"), nil, "cancelled", ""},
		"too late":           {"pay", refuse(409, "order_state", map[string]any{"state": "expired"}), order("expired"), "expired", "The order can’t be changed any more: Expired unpaid."},
		"lost but done":      {"pay", hangUp, order("paid"), "paid", ""},
		"lost and unknown":   {"pay", cutShort, order("created"), "created", "No answer arrived. If the order still stands as shown, ask again: it can’t be paid twice."},
		"lost, no look":      {"cancel", hangUp, hangUp, "created", "No answer arrived. If the order still stands as shown, ask again: it can’t be paid twice."},
		"unknown":            {"pay", refuse(504, "unknown_outcome", nil), order("created"), "created", "No answer arrived. If the order still stands as shown, ask again: it can’t be paid twice."},
		"nothing was done":   {"pay", refuse(503, "overloaded", nil), order("created"), "created", "The shop can’t take more orders right now."},
		"another's, or none": {"pay", refuse(404, "no_such_order", nil), refuse(404, "no_such_order", nil), "created", "There is no such order of yours."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, "")
			s.freshConnections()
			s.on("POST /orders/1/"+c.press, c.answer)
			s.on("GET /orders/1", c.then)
			tab := bought(t, s)
			do(t, tab, chromedp.Click(`[data-`+c.press+`="1"]`))
			wait(t, tab, `document.querySelector('[data-order][aria-busy="false"][data-state="`+c.state+`"]') && document.querySelector('.stub-word').textContent === `+"`"+c.text+"`")
			if got := next(t, tab, s.others); got.Method != "POST" || got.User == "" {
				t.Errorf("the press sent %+v", got)
			}
		})
	}
}

// A cancelled order gives the buyer's place back; the next purchase is a new one.
func TestBuyAgainAfterCancel(t *testing.T) {
	s := newStub(t, "")
	s.on("POST /orders/1/cancel", answer(200, "", s.order("1", "cancelled")))
	tab := bought(t, s)
	s.script(made(s.order("2", "created")))
	do(t, tab, chromedp.Click(`[data-cancel="1"]`), chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`), chromedp.WaitEnabled(`[data-pay="2"]`))
	first, second := next(t, tab, s.posts), next(t, tab, s.posts)
	if first.Key == second.Key || second.Retry != "" {
		t.Errorf("%+v followed %+v", second, first)
	}
}

// When the time to pay is over by the server's clock, the page looks until the
// shop has closed the order; it closes none itself.
func TestUnpaidOrderIsWatchedUntilItExpires(t *testing.T) {
	s := newStub(t, "")
	late := s.order("1", "created")
	late["pay_by"] = s.now().UnixMilli() - 1
	s.sell(s.openItem("1001"))
	s.script(made(late))
	s.on("GET /orders/1", inTurn(answer(200, "", late), answer(200, "", s.order("1", "expired"))))
	tab := open(t, s, calm)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`),
		chromedp.WaitReady(`[data-order="1"][data-state="expired"]`), chromedp.WaitEnabled(`[data-buy]`))
	if n := len(s.others); n != 2 {
		t.Errorf("it looked %d times, want 2", n)
	}
}
