package web

import (
	"net/http"
	"sync/atomic"
	"testing"

	"rushgate/gateway/web/webtest"
)

// queued answers 202 with a place to poll.
func queued(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		reply(w, 202, map[string]any{"biz_id": "b", "state": "queued", "position": 7, "eta_ms": 100})
	}
}

// inTurn gives each call the next of some answers; the last one stays.
func inTurn(answers ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		answers[min(i, len(answers)-1)](w, r)
	}
}

// listen notes all that the page says of a purchase, however briefly.
const listen = `
  window.said = [];
  new MutationObserver(() => {
    const text = document.querySelector('.sale-word')?.textContent;
    if (text && text !== window.said.at(-1)) window.said.push(text);
  }).observe(document, { subtree: true, childList: true, characterData: true });`

// A queued purchase polls where the answer said, tells its place, and ends as
// the shop decides.
func TestQueuedIsPolledToItsEnd(t *testing.T) {
	still := answer(200, "", map[string]any{"biz_id": "b", "state": "queued", "position": 3, "eta_ms": 50})
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	tab := open(t, s, calm, webtest.BeforePage(listen))
	for name, c := range map[string]struct {
		poll  http.HandlerFunc
		kind  string
		posts int
	}{
		"order":             {inTurn(still, answer(200, "", s.order("1", "created"))), "order", 1},
		"refused":           {inTurn(still, recorded("sold_out")), "refused", 1},
		"dead letter":       {recorded("order_failed"), "refused", 1},
		"a poll lost":       {inTurn(cutShort, answer(200, "", s.order("1", "created"))), "order", 1},
		"a poll refused":    {inTurn(refuse(429, "limited", nil), made(s.order("1", "created"))), "order", 1},
		"the queue is lost": {refuse(404, "no_such_order", nil), "order", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s.script(queued("/orders?biz_id=here"), made(s.order("1", "created")))
			s.on("GET /orders?biz_id=here", c.poll)
			buyAnew(t, tab)
			ended(t, tab, c.kind)
			if !js[bool](t, tab, `return window.said.splice(0).some((text) => text.includes('number 7 in the queue'))`) {
				t.Error("the page never told the place in the queue")
			}
			checkRepeats(t, tab, s, c.posts)
		})
	}
}

func recorded(code string) http.HandlerFunc {
	return answer(200, "", map[string]any{"biz_id": "b", "item": "1001", "user": "u", "qty": 1, "state": "refused", "code": code})
}

// A Location on another host is not followed: the buyer's key and name go to
// the shop alone.
func TestQueuedElsewhereIsNotFollowed(t *testing.T) {
	s, other := newStub(t, ""), newStub(t, "")
	s.script(queued(other.url("/orders?biz_id=there")), made(s.order("1", "created")))
	kind := js[string](t, blank(t, s), `
	  const { buy } = await m('rushgate');
	  return (await buy('1001', { random: () => 0 })).kind;`)
	if kind != "order" {
		t.Errorf("it ended as %q", kind)
	}
	if n := len(other.others); n != 0 {
		t.Errorf("%d polls went to another host", n)
	}
	if got := (<-s.others).Path; len(got) < len("/orders?biz_id=x") {
		t.Errorf("it polled %q", got)
	}
}
