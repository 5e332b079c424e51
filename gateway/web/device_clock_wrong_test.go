package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"rushgate/gateway/web/webtest"
)

// witness reports each change of the buy button to the server, whose clock then
// says when it was.
const witness = `
  let last;
  const watch = new MutationObserver(() => {
    const button = document.querySelector('[data-buy]');
    const word = !button ? undefined : button.disabled ? 'shut' : 'open';
    if (word === last || !word) return;
    last = word;
    fetch('/mark', { method: 'POST', body: word, keepalive: true });
    if (word === 'shut') return;
    watch.disconnect(); // what the click makes of it is not asked
    button.click(); // as fast as any buyer could be
  });
  watch.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['disabled'] });`

// The button opens by the server's clock however wrong the device's is, and the
// fastest click still arrives after the start.
func TestDeviceClockWrong(t *testing.T) {
	for name, skew := range map[string]struct{ device, server time.Duration }{
		"device an hour ahead":  {device: time.Hour},
		"device an hour behind": {device: -time.Hour},
		"server a day ahead":    {server: 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, "")
			s.skew = skew.server
			item := s.openItem("1001")
			item.State, item.StartsAt = "upcoming", s.now().Add(30*time.Minute).UnixMilli()
			s.sell(item)
			s.script(made(s.order("1", "created")))
			tab := open(t, s, webtest.SkewClock(skew.device), webtest.BeforePage(witness))

			if m := next(t, tab, s.marks); m.Word != "shut" {
				t.Fatalf("the button was %q at first, want it shut", m.Word)
			}
			item.StartsAt = s.now().Add(1500 * time.Millisecond).UnixMilli()
			s.sell(item)
			lookAgain(t, tab)
			if m := next(t, tab, s.marks); m.Word != "open" || m.At < item.StartsAt {
				t.Errorf("the button was %q %d ms before the start", m.Word, item.StartsAt-m.At)
			}
			if p := next(t, tab, s.posts); p.At < item.StartsAt {
				t.Errorf("a purchase arrived %d ms before the start", item.StartsAt-p.At)
			}
			ended(t, tab, "order")
		})
	}
}

// lookAgain makes the page ask for the list now.
func lookAgain(t testing.TB, tab context.Context) {
	t.Helper()
	js[any](t, tab, `document.dispatchEvent(new Event('visibilitychange'))`)
}

// A sale that has long begun is open at once, and one that is over stays shut.
func TestDeviceClockWrongInsideTheWindow(t *testing.T) {
	s := newStub(t, "")
	over := s.openItem("1002")
	over.StartsAt, over.EndsAt = over.StartsAt-7_200_000, s.now().UnixMilli()-1000
	s.sell(s.openItem("1001"), over)
	for name, by := range map[string]time.Duration{"behind": -3 * time.Hour, "ahead": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			tab := open(t, s, webtest.SkewClock(by))
			do(t, tab, chromedp.WaitEnabled(`[data-buy="1001"]`))
			if !js[bool](t, tab, `return document.querySelector('[data-buy="1002"]').disabled`) {
				t.Error("a sale that is over can be bought")
			}
		})
	}
}

// The countdown on the page ends at the server's start, not at the device's.
func TestCountdownShowsServerTime(t *testing.T) {
	s := newStub(t, "")
	item := s.openItem("1001")
	item.State, item.StartsAt = "upcoming", s.now().Add(26*time.Hour).UnixMilli()
	item.EndsAt = item.StartsAt + 1000
	s.sell(item)
	tab := open(t, s, webtest.SkewClock(-5*time.Hour))
	wait(t, tab, `document.querySelector('.sale-count')?.textContent.length > 5`)
	// A day and two hours, less than an hour of which has passed since.
	if got := js[string](t, tab, `return document.querySelector('.sale-count').textContent`); !strings.HasPrefix(got, "1d 01:") && got != "1d 02:00:00" {
		t.Errorf("the countdown says %q, want a little under 1d 02:00:00", got)
	}
}

// No source of the page reads the device's clock, not even to compare with.
func TestSourceNeverReadsDeviceClock(t *testing.T) {
	for at, file := range Files("") {
		for _, word := range []string{"Date.now", "new Date", "Date(", "timeOrigin", "Date.parse"} {
			if strings.Contains(string(file.Body), word) {
				t.Errorf("%s has %q: ask the server's clock", at, word)
			}
		}
	}
}
