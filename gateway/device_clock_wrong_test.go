package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"rushgate/gateway/web/webtest"
)

// quickest clicks the buy button in the moment that it opens, as fast as any
// buyer could be.
const quickest = `
  new MutationObserver(() => {
    const button = document.querySelector('[data-buy="9"]');
    if (!button) return;
    if (button.disabled) { globalThis.wasShut = true; return; }
    button.click();
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['disabled'] });`

// The real page on the real gateway: with the device's clock an hour wrong, the
// button opens when the server says so, and what it sends then is not too early.
func TestDeviceClockAnHourWrong(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := openShop(t, shopOptions{})
			sale := saleOf("9", 5)
			sale.StartsAt = time.Now().Add(6 * time.Second).UnixMilli()
			s.sell(sale)
			tab := webtest.Browser(t)
			if err := chromedp.Do(tab, webtest.SkewClock(by), webtest.BeforePage(quickest),
				chromedp.Navigate("http://"+s.public.Addr().String()+"/")); err != nil {
				t.Fatal(err)
			}
			s.eventually("the quickest buyer has an order", func() bool { return s.left("9") == 4 })
			orders, buyers := s.activeOrders("9")
			if orders != 1 || len(buyers) != 1 {
				t.Fatalf("%d units for %v", orders, buyers)
			}
			wasShut, err := chromedp.Run(tab, chromedp.Evaluate[bool](`globalThis.wasShut === true`))
			if err != nil || !wasShut {
				t.Errorf("the button was never seen shut: %v %v", wasShut, err)
			}
			if strings.Contains(s.metrics(), `reason="not_started"`) {
				t.Error("the page sent a purchase before the start")
			}
		})
	}
}

// metrics is what the admin listener tells a scraper.
func (s *shop) metrics() string {
	s.t.Helper()
	resp, err := http.Get("http://" + s.private.Addr().String() + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
