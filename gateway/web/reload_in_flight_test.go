package web

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// A page that is reloaded while its purchase is in flight asks for the same
// purchase, marked, and doesn't begin another.
func TestReloadInFlightRepeatsTheKey(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	s.script(hold, made(s.order("1", "created")))
	tab := open(t, s)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
	first := next(t, tab, s.posts)
	do(t, tab, chromedp.Reload())
	again := next(t, tab, s.posts)

	if first.Retry != "" || again.Retry != "1" {
		t.Errorf("Rushgate-Retry is %q, then %q; want none, then 1", first.Retry, again.Retry)
	}
	if first.Key != again.Key || first.User != again.User {
		t.Errorf("after the reload %s buys under %s; before it was %s under %s", again.User, again.Key, first.User, first.Key)
	}
	ended(t, tab, "order")
}

// Once the answer is there the key is forgotten: a reload sends nothing, and
// shows the order.
func TestReloadAfterwardsShowsTheOrder(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	order := made(s.order("1", "created"))
	s.script(order)
	s.on("GET /orders/1", answer(200, "", s.order("1", "paid")))
	tab := open(t, s)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
	bought := next(t, tab, s.posts)
	ended(t, tab, "order")

	do(t, tab, chromedp.Reload(), chromedp.WaitReady(`[data-order="1"][data-state="paid"]`))
	if looked := next(t, tab, s.others); looked.User != bought.User {
		t.Errorf("the order was looked up by %s, bought by %s", looked.User, bought.User)
	}
	if n := len(s.posts); n != 0 {
		t.Errorf("the reload sent %d purchases", n)
	}
}

// Another buyer in the same browser neither repeats the first one's key nor
// sees their orders.
func TestAnotherBuyerStartsAnew(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	s.script(hold, made(s.order("2", "created")))
	tab := open(t, s)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
	first := next(t, tab, s.posts)
	do(t, tab, chromedp.Click(`#another`), chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
	second := next(t, tab, s.posts)
	if second.Key == first.Key || second.User == first.User || second.Retry != "" {
		t.Errorf("the second buyer sent %+v after the first one's %+v", second, first)
	}
	ended(t, tab, "order")
}
