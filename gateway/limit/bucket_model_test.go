package limit

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// exact is a token bucket in rational numbers: no rounding, no library.
type exact struct {
	rate   Rate
	tokens *big.Rat
	last   time.Time
}

func newExact(r Rate) *exact {
	e := &exact{rate: r, tokens: new(big.Rat), last: noon.Add(-time.Hour)}
	if !r.Closed() {
		e.tokens.SetInt64(int64(r.Burst))
	}
	return e
}

// flow lets tokens in until now; a reading that comes late changes nothing.
func (e *exact) flow(now time.Time) {
	if now.Before(e.last) {
		return
	}
	elapsed := big.NewRat(int64(now.Sub(e.last)), int64(time.Second))
	e.last = now
	if !e.rate.Closed() {
		qps := new(big.Rat).SetFloat64(e.rate.QPS)
		e.tokens.Add(e.tokens, elapsed.Mul(elapsed, qps))
	}
	e.cap()
}

func (e *exact) cap() {
	if full := new(big.Rat).SetInt64(int64(max(e.rate.Burst, 0))); e.tokens.Cmp(full) > 0 {
		e.tokens.Set(full)
	}
}

func (e *exact) set(now time.Time, r Rate) {
	e.flow(now)
	e.rate = r
	e.cap()
}

func (e *exact) spend() { e.tokens.Sub(e.tokens, big.NewRat(1, 1)) }

func (e *exact) left() float64 {
	f, _ := e.tokens.Float64()
	return f
}

// slack is how much the library's floating point may differ: it works in whole
// nanoseconds.
func (e *exact) slack() float64 { return 1e-6 + 4e-9*e.rate.QPS }

func anyRate(t *rapid.T) Rate {
	return Rate{
		QPS:   rapid.OneOf(rapid.SampledFrom([]float64{0, 0.5, 1, 3, 5, 2000}), rapid.Float64Range(0.01, 1e5)).Draw(t, "qps"),
		Burst: rapid.OneOf(rapid.IntRange(0, 6), rapid.IntRange(1, 1000)).Draw(t, "burst"),
	}
}

func anyPause(t *rapid.T) time.Duration {
	return time.Duration(rapid.OneOf(
		rapid.Int64Range(-int64(maxLate/2), int64(maxLate)), // late readings among them
		rapid.Int64Range(0, 5_000),
		rapid.Int64Range(0, int64(time.Hour)),
	).Draw(t, "pause"))
}

// check compares a decision with the model's bucket, which has flowed to now.
func (e *exact) check(t *rapid.T, now time.Time, d Decision) {
	left, slack := e.left(), e.slack()
	if d.Rate != e.rate || d.Closed != e.rate.Closed() {
		t.Fatalf("decided by %v (closed %v), want %v", d.Rate, d.Closed, e.rate)
	}
	if d.Closed {
		if d.OK || d.RetryAfter != 0 {
			t.Fatalf("closed, yet %+v", d)
		}
		return
	}
	if d.OK && left < 1-slack || !d.OK && left > 1+slack {
		t.Fatalf("OK is %v with %v tokens", d.OK, left)
	}
	if d.OK {
		e.spend()
		left--
	}
	if r := float64(d.Remaining); r > left+slack && r != 0 || r < left-1-slack {
		t.Fatalf("%v remain, want the whole tokens of %v", d.Remaining, left)
	}
	near(t, "Reset", d.Reset, (float64(e.rate.Burst)-left)/e.rate.QPS, slack/e.rate.QPS)
	if !d.OK {
		near(t, "RetryAfter", d.RetryAfter, (1-left)/e.rate.QPS+e.last.Sub(now).Seconds(), slack/e.rate.QPS)
	}
}

func near(t *rapid.T, what string, got time.Duration, want, slack float64) {
	if math.Abs(got.Seconds()-want) > slack+3e-9+want*1e-12 {
		t.Fatalf("%s is %v, want %vs", what, got, want)
	}
}

func TestBucketAgreesWithExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, first := noon, anyRate(t)
		b, model := NewBucket(first), newExact(first)
		t.Repeat(map[string]func(*rapid.T){
			"allow": func(t *rapid.T) {
				model.flow(now)
				model.check(t, now, b.Allow(now))
			},
			"pause": func(t *rapid.T) { now = later(now, model.last, anyPause(t)) },
			"set": func(t *rapid.T) {
				r := anyRate(t)
				b.Set(now, r)
				model.set(now, r)
			},
		})
	})
}

// A key of a table must be treated as a bucket of its own would be, though it
// hears of new rates only when it is asked, and is forgotten once it is full.
func TestKeyAgreesWithExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, first := noon, anyRate(t)
		k, models := NewKeyed[string](first, 100, now), map[string]*exact{}
		forget := func() {
			k.clock.advance(now)
			for key, m := range models {
				m.flow(now)
				if _, ok := k.table.GetEntryQuietly(key); ok {
					continue
				}
				if m.rate.Closed() || m.left() < float64(m.rate.Burst)-m.slack() {
					t.Fatalf("%s was forgotten with %v tokens at %v", key, m.left(), m.rate)
				}
				delete(models, key)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"allow": func(t *rapid.T) {
				forget()
				key := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "key")
				rate := k.current.Load().rate
				if models[key] == nil {
					models[key] = newExact(rate)
				}
				models[key].flow(now)
				models[key].check(t, now, k.Allow(key, now))
				if _, ok := k.table.GetEntryQuietly(key); !ok {
					delete(models, key) // a closed table takes no new keys
				}
			},
			"pause": func(t *rapid.T) { now = now.Add(max(anyPause(t), 0)) },
			"set": func(t *rapid.T) {
				forget()
				r := anyRate(t)
				k.Set(now, r)
				for _, m := range models {
					m.set(now, r)
				}
			},
		})
	})
}

// later moves now by pause, but never further back than a late reading may lie.
func later(now, last time.Time, pause time.Duration) time.Time {
	if next := now.Add(pause); next.After(last.Add(-maxLate)) {
		return next
	}
	return last
}
