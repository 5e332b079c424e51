package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"rushgate/gateway/web/webtest"
)

// Both books say the same things, with the same places to fill in, and have a
// sentence for every code that a buyer can meet.
func TestBooksMatch(t *testing.T) {
	type books struct{ Missing, Places []string }
	got := js[books](t, blank(t, newStub(t, "")), `
	  const en = (await m('words_en')).default, zh = (await m('words_zh')).default;
	  const holes = (text) => (text?.match(/\{\w+\}/g) ?? []).sort().join();
	  const keys = [...new Set([...Object.keys(en), ...Object.keys(zh)])];
	  const codes = ['bad_request', 'idempotency_key_missing', 'unauthenticated', 'blacklisted', 'forbidden', 'no_such_item', 'no_such_order',
	    'no_route', 'duplicate', 'sold_out', 'in_progress', 'order_state', 'order_failed', 'ended', 'idempotency_mismatch', 'not_started', 'limited',
	    'limited.ip', 'limited.user', 'limited.item', 'limited.global', 'upstream_failed', 'overloaded', 'draining', 'paused', 'unknown_outcome', 'other'];
	  return {
	    Missing: [...keys, ...codes.map((c) => 'code.' + c)].filter((k) => !en[k] || !zh[k]),
	    Places: keys.filter((k) => holes(en[k]) !== holes(zh[k])),
	  };`)
	if len(got.Missing) > 0 || len(got.Places) > 0 {
		t.Errorf("missing in a book: %v; other places to fill in: %v", got.Missing, got.Places)
	}
}

// The browser's language decides, the reader's choice overrules it, and the
// choice is remembered.
func TestLanguage(t *testing.T) {
	s := newStub(t, "")
	s.sell(s.openItem("1001"))
	tab := open(t, s, webtest.BeforePage(`Object.defineProperty(navigator, 'language', { get: () => 'zh-CN' })`))
	do(t, tab, chromedp.WaitEnabled(`[data-buy]`))
	const look = `return [document.documentElement.lang, document.querySelector('h1').textContent,
	  document.querySelector('[data-buy]').textContent, document.querySelector('#language').textContent, document.title]`
	zh := []string{"zh-CN", "限时秒杀", "立即抢购", "English", "限时秒杀 · Rushgate"}
	en := []string{"en", "Flash sale", "Buy", "中文", "Flash sale · Rushgate"}
	if diff := cmp.Diff(zh, js[[]string](t, tab, look)); diff != "" {
		t.Error(diff)
	}
	do(t, tab, chromedp.Click(`#language`))
	if diff := cmp.Diff(en, js[[]string](t, tab, look)); diff != "" {
		t.Error(diff)
	}
	do(t, tab, chromedp.Reload(), chromedp.WaitEnabled(`[data-buy]`))
	if diff := cmp.Diff(en, js[[]string](t, tab, look)); diff != "" {
		t.Error("after a reload: ", diff)
	}
}
