package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever came before, waiting for as long as was told lets the next request
// through; so does waiting for the whole seconds of the header.
func TestWaitingForRetryAfterIsEnough(t *testing.T) {
	rates := rapid.Custom(func(t *rapid.T) Rate {
		return Rate{
			QPS:   rapid.OneOf(rapid.Float64Range(1e-6, 1), rapid.Float64Range(1, 1e6), rapid.SampledFrom([]float64{1.0 / 3, 0.7, 3, 7})).Draw(t, "qps"),
			Burst: rapid.IntRange(1, 50).Draw(t, "burst"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		b := NewBucket(rates.Draw(t, "rate"))
		t.Repeat(map[string]func(*rapid.T){
			"ask until refused, wait, ask": func(t *rapid.T) {
				d := b.Allow(now)
				for d.OK {
					d = b.Allow(now)
				}
				if d.RetryAfter <= 0 || d.RetryAfterSeconds() < 1 {
					t.Fatalf("refused with RetryAfter %v (%d s)", d.RetryAfter, d.RetryAfterSeconds())
				}
				wait := d.RetryAfter
				if rapid.Bool().Draw(t, "by the header") {
					wait = time.Duration(d.RetryAfterSeconds()) * time.Second
				}
				now = now.Add(wait)
				if d := b.Allow(now); !d.OK {
					t.Fatalf("waited %v as told, refused again: %+v", wait, d)
				}
			},
			"pause": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "pause")))
			},
			"late reading": func(t *rapid.T) {
				now = now.Add(-time.Duration(rapid.Int64Range(0, int64(maxLate/2)).Draw(t, "late")))
			},
			"reload": func(t *rapid.T) { b.Set(now, rates.Draw(t, "rate")) },
		})
	})
}

func TestGrantedAsksForNoWait(t *testing.T) {
	d := NewBucket(Rate{QPS: 1, Burst: 1}).Allow(noon)
	if !d.OK || d.RetryAfter != 0 || d.RetryAfterSeconds() != 0 {
		t.Errorf("granted with RetryAfter %v (%d s), want none", d.RetryAfter, d.RetryAfterSeconds())
	}
}
