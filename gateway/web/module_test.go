package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The id is a UUIDv7 on the time it is given, and a UUIDv4 without one.
func TestBizID(t *testing.T) {
	got := js[[]string](t, blank(t, newStub(t, "")), `
	  const { bizId } = await m('bizid');
	  const all = (bits) => (bytes) => bytes.fill(bits);
	  return [bizId(1_700_000_000_000.9, all(0)), bizId(1_700_000_000_000, all(255)), bizId(NaN, all(0)), bizId(undefined, all(255))];`)
	want := []string{
		"018bcfe5-6800-7000-8000-000000000000", "018bcfe5-6800-7fff-bfff-ffffffffffff",
		"00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Waits are drawn from a span that doubles, up to a bound.
func TestBackoff(t *testing.T) {
	got := js[[]float64](t, blank(t, newStub(t, "")), `
	  const { backoff } = await m('verdict');
	  return [0, 1, 2, 5, 6, 1000].map((n) => backoff(n, () => 1)).concat(backoff(3, () => 0), backoff(3, () => 0.5));`)
	if diff := cmp.Diff([]float64{250, 500, 1000, 8000, 8000, 8000, 0, 1000}, got); diff != "" {
		t.Error(diff)
	}
}

// A Retry-After that is a date is no number of seconds, and the finer word of
// the body wins.
func TestRetryAfter(t *testing.T) {
	got := js[[]float64](t, blank(t, newStub(t, "")), `
	  const { call } = await m('wire');
	  const ask = async (header, body) => {
	    const fetch = async () => new Response(JSON.stringify(body), { status: 429, headers: header ? { 'Retry-After': header } : {} });
	    return (await call('x', { fetch })).retryAfter;
	  };
	  return [await ask('3', {}), await ask('3', { retry_after_ms: 250 }), await ask('Fri, 01 Jan 2100 00:00:00 GMT', {}),
	    await ask('-5', {}), await ask('', {}), await ask('2', { retry_after_ms: 'soon' }), await ask('2', { retry_after_ms: -1 })];`)
	if diff := cmp.Diff([]float64{3000, 250, 0, 0, 0, 2000, 2000}, got); diff != "" {
		t.Error(diff)
	}
}

// An answer that never comes is given up, and so is one the caller no longer wants.
func TestCallIsBounded(t *testing.T) {
	s := newStub(t, "")
	s.on("GET /orders/slow", hold)
	got := js[[]string](t, blank(t, s), `
	  const { call } = await m('wire');
	  const name = (p) => p.then(() => 'answered', (e) => e.name);
	  const gone = new AbortController();
	  const left = name(call('orders/slow', { signal: gone.signal }));
	  gone.abort();
	  return [await name(call('orders/slow', { patience: 50 })), await left, await name(call('orders/slow', { signal: gone.signal }))];`)
	if diff := cmp.Diff([]string{"TimeoutError", "AbortError", "AbortError"}, got); diff != "" {
		t.Error(diff)
	}
}

// The ledger keeps buyers and items apart, survives rubbish in the storage, and
// a full or missing storage stops no purchase.
func TestLedger(t *testing.T) {
	s := newStub(t, "")
	s.script(made(s.order("1", "created")))
	got := js[map[string]any](t, blank(t, s), `
	  const { Ledger, buy } = await m('rushgate');
	  const ledger = new Ledger();
	  ledger.keep('u', '1', { biz_id: 'k', qty: 2, unsure: true });
	  const apart = [ledger.pending('u', '2'), ledger.pending('v', '1'), ledger.pending('u', '1').biz_id];
	  ledger.settle('u', '1', 'another', 'o1');
	  const kept = ledger.pending('u', '1') !== null;
	  ledger.settle('u', '1', 'k', 'o2');
	  ledger.settle('u', '1', 'k', 'o2');
	  const orders = ledger.orders('u', '1');
	  for (let i = 0; i < 50; i++) ledger.settle('u', '1', 'k', 'n' + i);
	  const bounded = [ledger.orders('u', '1').length, ledger.orders('u', '1').at(-1)];
	  for (const name of Object.keys(localStorage)) localStorage.setItem(name, '{"biz_id": 7');
	  const rubbish = [ledger.pending('u', '1'), ledger.orders('u', '1')];
	  const full = { getItem: () => null, removeItem() {}, setItem() { throw new DOMException('', 'QuotaExceededError'); } };
	  const end = await buy('1001', { ledger: new Ledger(full) });
	  return { apart, kept, orders, bounded, rubbish, full: end.kind };`)
	want := map[string]any{
		"apart": []any{nil, nil, "k"}, "kept": true, "orders": []any{"o1", "o2"},
		"bounded": []any{20.0, "n49"}, "rubbish": []any{nil, []any{}}, "full": "order",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A key that surely bought nothing isn't tied to its quantity; one that may
// have is.
func TestQuantityOfAKeptKey(t *testing.T) {
	s := newStub(t, "")
	s.script(made(s.order("1", "created")))
	same := js[[]bool](t, blank(t, s), `
	  const { Ledger, Purchase } = await m('rushgate');
	  const ledger = new Ledger();
	  const takes = (unsure, qty) => {
	    ledger.keep('u', '1', { biz_id: 'k', qty: 1, unsure });
	    return new Purchase('1', { user: 'u', qty, ledger }).bizId === 'k';
	  };
	  return [takes(true, 1), takes(true, 2), takes(false, 1), takes(false, 2)];`)
	if diff := cmp.Diff([]bool{true, true, true, false}, same); diff != "" {
		t.Error(diff)
	}
}
