package webtest_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"rushgate/gateway/web/webtest"
)

// A skewed page believes a wrong time in every way a page can ask for it, and
// measures spans as before.
func TestSkewClock(t *testing.T) {
	const ask = `(() => {
	  const span = performance.now();
	  return [Date.now(), new Date().getTime(), Date.parse(Date()), performance.timeOrigin + span]
	    .map((ms) => Math.round((ms - REAL) / 3_600_000))
	    .concat(new Date(5).getTime(), new Date() instanceof Date ? 1 : 0, span < 3_600_000 ? 1 : 0);
	})()`
	browser := webtest.Browser(t)
	for _, hours := range []int{1, -3, 0} {
		tab := webtest.Tab(t, browser)
		err := chromedp.Do(tab, webtest.BeforePage("globalThis.REAL = Date.now();"),
			webtest.SkewClock(time.Duration(hours)*time.Hour), chromedp.Navigate("about:blank"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := chromedp.Run(tab, chromedp.Evaluate[[]int](ask))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{hours, hours, hours, hours, 5, 1, 1}, got); diff != "" {
			t.Errorf("skewed by %d h: %s", hours, diff)
		}
	}
}
