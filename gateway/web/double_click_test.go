package web

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// However often the button is pressed while a purchase is in flight, one
// request leaves, and the button says that it is busy.
func TestDoubleClickIsOnePurchase(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	release := make(chan struct{})
	order := made(s.order("1", "created"))
	s.script(func(w http.ResponseWriter, r *http.Request) {
		<-release
		order(w, r)
	})
	tab := open(t, s)
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`), chromedp.DoubleClick(`[data-buy]`))
	next(t, tab, s.posts)

	type button struct {
		Disabled bool   `json:"disabled"`
		Busy     string `json:"busy"`
		Text     string `json:"text"`
	}
	const look = `const b = document.querySelector('[data-buy]');
	  b.click(); b.dispatchEvent(new MouseEvent('click', { bubbles: true })); // the second goes past "disabled"
	  return { disabled: b.disabled, busy: b.getAttribute('aria-busy'), text: b.textContent };`
	if got, want := js[button](t, tab, look), (button{true, "true", "Buying…"}); got != want {
		t.Errorf("in flight the button is %+v, want %+v", got, want)
	}
	close(release)
	ended(t, tab, "order")
	if n := len(s.posts); n != 0 {
		t.Errorf("%d more purchases were sent", n)
	}
	if got := js[button](t, tab, `const b = document.querySelector('[data-buy]'); return { disabled: b.disabled, busy: b.getAttribute('aria-busy'), text: b.textContent }`); got != (button{true, "false", "You have yours"}) {
		t.Errorf("afterwards the button is %+v", got)
	}
}

// The module itself joins a second call to the first, for pages that lock no button.
func TestTwoCallsAreOnePurchase(t *testing.T) {
	s := newStub(t, "")
	s.script(made(s.order("1", "created")))
	tab := blank(t, s)
	ids := js[[]string](t, tab, `
	  const { buy } = await m('rushgate');
	  const ends = await Promise.all([buy('1001', { user: 'u' }), buy('1001', { user: 'u' }), buy('1002', { user: 'u' })]);
	  return ends.map((e) => e.bizId);`)
	if ids[0] != ids[1] || ids[0] == ids[2] {
		t.Errorf("keys of two calls for one item and one for another: %v", ids)
	}
	if n := len(s.posts); n != 2 {
		t.Errorf("%d purchases were sent, want 2", n)
	}
}
