package web

import (
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// Under a prefix, everything the page asks for stays under it.
func TestPrefix(t *testing.T) {
	s := newStub(t, "/rush")
	s.sell(s.openItem("1001"))
	s.script(queued("/rush/orders?biz_id=here"))
	s.on("GET /orders?biz_id=here", made(s.order("1", "created")))
	tab := open(t, s, calm)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
	ended(t, tab, "order")
}

// The page asks nobody but its own origin, and can be used without any other.
func TestOwnOriginOnly(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	s.script(made(s.order("1", "created")))
	tab := newTab(t)
	var mu sync.Mutex
	var elsewhere []string
	if _, err := chromedp.Call(tab, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Listen(tab, func(ev any) {
		if sent, ok := ev.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(sent.Request.URL, s.server.URL+"/") {
			mu.Lock()
			defer mu.Unlock()
			elsewhere = append(elsewhere, sent.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	do(t, tab, chromedp.Navigate(s.url("/")), chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
	ended(t, tab, "order")
	mu.Lock()
	defer mu.Unlock()
	if len(elsewhere) > 0 {
		t.Errorf("the page asked %v", elsewhere)
	}
}

// What a card shows of a sale follows the shop's word and the server's window.
func TestPhases(t *testing.T) {
	s := newStub(t, "")
	item := func(id, state string, startsIn, endsIn int64) saleItem {
		i := s.openItem(id)
		i.State, i.StartsAt, i.EndsAt = state, i.StartsAt+60_000+startsIn, i.StartsAt+60_000+endsIn
		return i
	}
	const hour = 3_600_000
	s.sell(
		item("upcoming", "upcoming", hour, 2*hour),
		item("open", "open", -hour, hour),
		item("late-list", "upcoming", -hour, hour), // the list is older than the start
		item("paused", "paused", -hour, hour),
		item("sold-out", "sold_out", -hour, hour),
		item("ended", "ended", -hour, hour), // closed early
		item("over", "open", -2*hour, -hour),
	)
	tab := open(t, s)
	do(t, tab, chromedp.WaitEnabled(`[data-buy="open"]`))
	got := js[map[string][]any](t, tab, `
	  return Object.fromEntries([...document.querySelectorAll('.sale')].map((el) => {
	    const button = el.querySelector('[data-buy]');
	    return [el.dataset.item, [el.querySelector('.sale-state').textContent, button.textContent, button.disabled]];
	  }));`)
	want := map[string][]any{
		"upcoming":  {"Upcoming", "Not open yet", true},
		"open":      {"On sale", "Buy", false},
		"late-list": {"On sale", "Buy", false},
		"paused":    {"Paused", "Paused", true},
		"sold-out":  {"Sold out", "Sold out", true},
		"ended":     {"Ended", "Ended", true},
		"over":      {"Ended", "Ended", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The list is kept while it can't be had, with a word about it, and the page
// takes what changed without moving what stayed.
func TestListChanges(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1"), s.openItem("2"))
	tab := open(t, s)
	do(t, tab, chromedp.WaitEnabled(`[data-buy="2"]`))
	js[any](t, tab, `window.kept = document.querySelector('[data-item="2"]')`)

	paused := s.openItem("2")
	paused.State = "paused"
	s.sell(s.openItem("3"), paused)
	lookAgain(t, tab)
	wait(t, tab, `[...document.querySelectorAll('.sale')].map((el) => el.dataset.item + el.dataset.phase).join() === '3open,2paused'`)
	if !js[bool](t, tab, `return window.kept === document.querySelector('[data-item="2"]')`) {
		t.Error("the card that stayed was made anew")
	}

	s.server.CloseClientConnections()
	s.server.Close()
	lookAgain(t, tab)
	wait(t, tab, `document.querySelector('#notice').textContent.includes('out of date')`)
	if n := js[int](t, tab, `return document.querySelectorAll('.sale').length`); n != 2 {
		t.Errorf("%d sales are left on the page, want 2", n)
	}
}

// A buyer may take several where the sale allows it, and only as many as that.
func TestQuantity(t *testing.T) {
	s := newStub(t, "")
	item := s.openItem("1001")
	item.PerUser = 3
	s.sell(item)
	order := s.order("1", "created")
	order["qty"] = 2
	s.script(made(order))
	tab := open(t, s)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.SetValue(`.sale-qty select`, "2"), chromedp.Click(`[data-buy]`))
	ended(t, tab, "order")
	if got := next(t, tab, s.posts).Body; got != `{"qty":2}` {
		t.Errorf("it sent %s", got)
	}
	if got := js[[]any](t, tab, `return [document.querySelectorAll('.sale-qty option').length, document.querySelector('[data-buy]').disabled]`); got[0] != 3.0 || got[1] != false {
		t.Errorf("quantities offered, button shut = %v", got)
	}
}

// Nothing moves under a finger: the button stays where it is while the page
// learns the time, when the sale opens, and when the list can't be had.
func TestButtonStaysInItsPlace(t *testing.T) {
	s := newStub(t, "")
	item := s.openItem("1001")
	item.PerUser = 3
	item.State, item.StartsAt = "upcoming", item.StartsAt+3_600_000
	s.sell(item)
	known := make(chan struct{})
	s.delay = func(int, bool) { <-known }
	tab := open(t, s)
	const place = `const { x, y, width, height } = document.querySelector('[data-buy]').getBoundingClientRect(); return [x, y, width, height];`
	shows := func(phase string) []float64 {
		wait(t, tab, `document.querySelector('.sale')?.dataset.phase === '`+phase+`'`)
		return js[[]float64](t, tab, place)
	}
	want := shows("unsure")
	close(known)
	if diff := cmp.Diff(want, shows("upcoming")); diff != "" {
		t.Error("when the time was known: ", diff)
	}
	item.State, item.StartsAt = "open", item.StartsAt-3_600_000
	s.sell(item)
	lookAgain(t, tab)
	if diff := cmp.Diff(want, shows("open")); diff != "" {
		t.Error("when the sale opened: ", diff)
	}
	s.server.CloseClientConnections()
	s.server.Close()
	lookAgain(t, tab)
	wait(t, tab, `!document.querySelector('#notice').hidden`)
	if diff := cmp.Diff(want, js[[]float64](t, tab, place)); diff != "" {
		t.Error("when the list couldn't be had: ", diff)
	}
}
