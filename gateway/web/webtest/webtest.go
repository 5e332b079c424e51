// Package webtest drives the sale page in a real browser, for tests of this
// and other packages.
package webtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// patience is how long one tab may live. A page that never does what a test
// waits for ends there, with a context error, instead of hanging the run.
const patience = 2 * time.Minute

// Start starts a Chromium of its own with a fresh profile and returns the
// context of its first tab, from which [Tab] opens more. stop ends it. The error
// says what to install where there is no Chromium.
func Start() (browser context.Context, stop func(), err error) {
	path, err := chromium()
	if err != nil {
		return nil, nil, err
	}
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), options(path)...)
	// The driver's own log goes nowhere: it may write after a test has ended,
	// and what it has to say comes back as errors.
	quiet := func(string, ...any) {}
	browser, end := chromedp.NewContext(alloc, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	stop = func() {
		end()
		stopAlloc()
	}
	if err := chromedp.Do(browser); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return browser, stop, nil
}

// Browser starts a Chromium for one test and returns a tab of it, for
// [chromedp.Run] and [chromedp.Do]; the tab is good for two minutes. Where there
// is no Chromium the test fails: a page that nobody has looked at isn't tested.
func Browser(t testing.TB) context.Context {
	t.Helper()
	browser, stop, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return Tab(t, browser)
}

// Tab opens one more tab in a browser. It shares nothing with the others,
// storage included, ends with the test, and after two minutes at the latest.
func Tab(t testing.TB, browser context.Context) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(browser, patience)
	t.Cleanup(cancel)
	tab, end := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	if err := chromedp.Do(tab); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return tab
}

// chromium finds the browser, under the names that distributions give it.
func chromium() (string, error) {
	for _, name := range []string{"chromium", "/usr/bin/chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium in PATH: browser tests need one (Debian and Ubuntu: apt-get install chromium)")
}

// options keep the browser to the page under test: it calls nobody else, and
// doesn't slow a page's timers because no window shows it. Without a
// user-data-dir the driver makes a fresh one and removes it.
func options(path string) []chromedp.ExecAllocatorOption {
	return []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.Headless,
		chromedp.NoSandbox, // tests run as root in containers
		chromedp.DisableGPU,
		chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("lang", "en"),
	}
}

// BeforePage runs a script in every document of the tab from now on, before the
// document's own.
func BeforePage(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// SkewClock makes every later document of the tab believe that the device's
// clock is ahead by so much, or behind where it is negative: Date in all its
// forms, and performance.timeOrigin. What is measured on performance.now() goes
// on as before, as it does on a real device whose clock is wrong.
func SkewClock(by time.Duration) chromedp.Action[chromedp.Void] {
	return BeforePage(fmt.Sprintf(skew, by.Milliseconds()))
}

const skew = `(() => {
  const by = %d;
  const Real = Date;
  const now = () => Real.now() + by;
  globalThis.Date = new Proxy(Real, {
    construct: (target, args, as) => Reflect.construct(target, args.length ? args : [now()], as),
    apply: () => new Real(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
  const origin = performance.timeOrigin + by;
  Object.defineProperty(performance, 'timeOrigin', { get: () => origin });
})()`
