package limit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecisionsOfABucket(t *testing.T) {
	two := Rate{QPS: 2, Burst: 2}
	b := NewBucket(two)
	steps := []struct {
		at   float64
		want Decision
	}{
		{0, Decision{OK: true, Rate: two, Remaining: 1, Reset: 500 * time.Millisecond}},
		{0, Decision{OK: true, Rate: two, Remaining: 0, Reset: time.Second}},
		{0, Decision{Rate: two, Remaining: 0, Reset: time.Second, RetryAfter: 500*time.Millisecond + 1}},
		{0.25, Decision{Rate: two, Remaining: 0, Reset: 750 * time.Millisecond, RetryAfter: 250*time.Millisecond + 1}},
		{0.5, Decision{OK: true, Rate: two, Remaining: 0, Reset: time.Second}},
		{60, Decision{OK: true, Rate: two, Remaining: 1, Reset: 500 * time.Millisecond}},
	}
	for i, step := range steps {
		if diff := cmp.Diff(step.want, b.Allow(after(step.at))); diff != "" {
			t.Errorf("step %d, %vs: (-want +got)\n%s", i, step.at, diff)
		}
	}
}

func TestWaitsAreRoundedUp(t *testing.T) {
	third := Rate{QPS: 3, Burst: 1}
	b := NewBucket(third)
	want := []Decision{
		{OK: true, Rate: third, Reset: 333_333_334},
		{Rate: third, Reset: 333_333_334, RetryAfter: 333_333_335},
	}
	if diff := cmp.Diff(want, []Decision{b.Allow(noon), b.Allow(noon)}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestExtremeRatesStayARate(t *testing.T) {
	tests := map[string]struct {
		rate Rate
		want int // of 100 at one moment
	}{
		"slower than a lifetime": {Rate{QPS: 1e-300, Burst: 3}, 3},
		"faster than the clock":  {Rate{QPS: 1e300, Burst: 3}, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := NewBucket(tt.rate)
			if got := granted(100, func() Decision { return b.Allow(noon) }); got != tt.want {
				t.Errorf("granted %d of 100 at one moment, want %d", got, tt.want)
			}
			if d := b.Allow(noon); d.RetryAfter <= 0 || d.Reset <= 0 {
				t.Errorf("refused with RetryAfter %v and Reset %v, want both positive", d.RetryAfter, d.Reset)
			}
		})
	}
}
