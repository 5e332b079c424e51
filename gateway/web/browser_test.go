package web

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"rushgate/gateway/web/webtest"
)

// chrome is one browser for all tests of the package; each opens tabs of its own.
var chrome = sync.OnceValues(func() (context.Context, error) {
	browser, stop, err := webtest.Start()
	stopChrome = stop
	return browser, err
})

var stopChrome func()

func TestMain(m *testing.M) {
	code := m.Run()
	if stopChrome != nil {
		stopChrome()
	}
	os.Exit(code)
}

// newTab opens an empty tab.
func newTab(t testing.TB) context.Context {
	t.Helper()
	browser, err := chrome()
	if err != nil {
		t.Fatal(err)
	}
	return webtest.Tab(t, browser)
}

// calm takes the chance out of waits: a backoff drawn from [0, n) is 0, so that
// tests of many attempts take no time.
var calm = webtest.BeforePage("Math.random = () => 0;")

// open shows the sale page of a stub in a tab of its own, after the given
// actions. The test fails if the page throws, or breaks its own security policy.
func open(t testing.TB, s *stub, before ...chromedp.Action[chromedp.Void]) context.Context {
	t.Helper()
	tab := newTab(t)
	watchFaults(t, tab)
	do(t, tab, append(before, chromedp.Navigate(s.url("/")), chromedp.WaitReady("#sales"))...)
	return tab
}

// watchFaults notes what a page must never do.
func watchFaults(t testing.TB, tab context.Context) {
	t.Helper()
	var mu sync.Mutex
	var faults []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		faults = append(faults, text)
	}
	err := chromedp.Listen(tab, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			note(fmt.Sprint(ev.ExceptionDetails))
		case *log.EventEntryAdded:
			if strings.Contains(ev.Entry.Text, "Content Security Policy") {
				note(ev.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Fatalf("listen to the page: %v", err)
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, f := range faults {
			t.Errorf("the page: %s", f)
		}
	})
}

// blank opens an empty page of the stub's origin, to run modules in.
func blank(t testing.TB, s *stub) context.Context {
	t.Helper()
	tab := newTab(t)
	do(t, tab, chromedp.Navigate(s.url("/blank")))
	return tab
}

func do(t testing.TB, tab context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(tab, steps...); err != nil {
		t.Fatalf("drive the page: %v", err)
	}
}

// js evaluates the body of an async function in the page. Modules are imported
// by name: m('clock').
func js[T any](t testing.TB, tab context.Context, body string) T {
	t.Helper()
	const m = "const m = (name) => import(`${location.pathname.replace(/[^/]*$/, '')}_rushgate/${name}.js`);\n"
	raw, err := chromedp.Run(tab, chromedp.Evaluate[string]("(async () => {"+m+body+"})().then((v) => JSON.stringify(v ?? null))", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("in the page: %v\n%s", err, body)
	}
	var v T
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("in the page: %v in %s", err, raw)
	}
	return v
}

// patience is how long a test waits for a page to do something: shorter than
// the tab lives, so that a failing test can still say what the page shows.
const patience = time.Minute

// wait returns when an expression is true in the page.
func wait(t testing.TB, tab context.Context, expression string) {
	t.Helper()
	if _, err := chromedp.Run(tab, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		t.Fatalf("wait for %s: %v\n%s", expression, err, dump(tab))
	}
}

// dump is what the page shows, for a failing test.
func dump(tab context.Context) string {
	text, err := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// next takes one value from a stub's channel.
func next[T any](t testing.TB, tab context.Context, from <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		t.Fatalf("nothing came: %v\n%s", context.Cause(ctx), dump(tab))
		panic("unreachable")
	}
}

// buyAnew presses the button as a buyer whom nobody knows yet, so that one page
// serves many cases.
func buyAnew(t testing.TB, tab context.Context) {
	t.Helper()
	do(t, tab, chromedp.Click(`#another`), chromedp.WaitEnabled(`[data-buy]`), chromedp.Click(`[data-buy]`))
}

// ended waits until the last purchase on the page ended in a way ("order",
// "refused", "failed", "unknown") and returns what the page says of it.
func ended(t testing.TB, tab context.Context, kind string) string {
	t.Helper()
	wait(t, tab, `document.querySelector('.sale-word:not([hidden])')?.dataset.kind === '`+kind+`'`)
	return js[string](t, tab, `return document.querySelector('.sale-word p').textContent`)
}
