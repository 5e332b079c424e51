package limit

import (
	"testing"
	"time"
)

func TestClockSetBackNeitherStallsNorRefillsTwice(t *testing.T) {
	for kind, s := range scopes(Rate{QPS: 1, Burst: 10}) {
		t.Run(kind, func(t *testing.T) {
			s.allow(noon)
			granted(20, func() Decision { return s.allow(after(3600)) })
			if got := granted(20, func() Decision { return s.allow(noon) }); got != 0 {
				t.Errorf("granted %d when the clock was set back, want 0", got)
			}
			if got := granted(20, func() Decision { return s.allow(after(3)) }); got != 3 {
				t.Errorf("granted %d in the 3 s that followed, want 3: the clock must not have to catch up", got)
			}
		})
	}
}

func TestLateReadingsRefillNothing(t *testing.T) {
	for kind, s := range scopes(Rate{QPS: 10, Burst: 10}) {
		t.Run(kind, func(t *testing.T) {
			total := 0
			for i := range 1000 { // ten readings a millisecond apart, told in the wrong order
				at := i/10*10 + 9 - i%10
				total += granted(2, func() Decision { return s.allow(noon.Add(time.Duration(at) * time.Millisecond)) })
			}
			if total < 19 || total > 20 {
				t.Errorf("granted %d in one second, want 10 at once and 9 or 10 since", total)
			}
		})
	}
}

// A reading of time.Now is never set back, so one that is far behind is late,
// however late: a request may have waited for something before it asked.
func TestVeryLateMonotonicReadingIsLate(t *testing.T) {
	start := time.Now()
	b := NewBucket(Rate{QPS: 1, Burst: 10})
	granted(10, func() Decision { return b.Allow(start.Add(time.Hour)) })
	b.Allow(start)
	if got := granted(10, func() Decision { return b.Allow(start.Add(time.Hour)) }); got != 0 {
		t.Errorf("granted %d for an hour that had flowed in already, want 0", got)
	}
}

func TestRetryAfterCountsFromALateReading(t *testing.T) {
	b := NewBucket(Rate{QPS: 1, Burst: 1})
	b.Allow(after(0.5))
	d := b.Allow(noon)
	if got := b.Allow(noon.Add(d.RetryAfter)); !got.OK {
		t.Errorf("waited %v from the late reading, refused: %+v", d.RetryAfter, got)
	}
	if want := 1500*time.Millisecond + 1; d.RetryAfter != want {
		t.Errorf("RetryAfter is %v, want %v", d.RetryAfter, want)
	}
}

func TestReloadAfterTheClockWasSetBack(t *testing.T) {
	k := NewKeyed[string](Rate{QPS: 1, Burst: 10}, 10, noon)
	granted(10, func() Decision { return k.Allow("ann", after(3600)) })
	k.Allow("ann", noon)
	k.Set(after(2), Rate{QPS: 3, Burst: 10})
	if got := granted(20, func() Decision { return k.Allow("ann", after(4)) }); got != 8 {
		t.Errorf("granted %d in 2 s at 1 a second and 2 s at 3, want 8", got)
	}
}

func TestLateReloadRefillsNothing(t *testing.T) {
	t.Run("later than a request", func(t *testing.T) {
		k := NewKeyed[string](Rate{QPS: 1, Burst: 10}, 10, noon)
		granted(10, func() Decision { return k.Allow("ann", after(0.9)) })
		k.Set(noon, Rate{QPS: 10, Burst: 10})
		if got := granted(10, func() Decision { return k.Allow("ann", after(0.9)) }); got != 0 {
			t.Errorf("granted %d for a time that had flowed in already, want 0", got)
		}
	})
	t.Run("later than another reload", func(t *testing.T) {
		k := NewKeyed[string](Rate{QPS: 0.1, Burst: 100}, 10, noon)
		granted(100, func() Decision { return k.Allow("ann", noon) })
		k.Set(after(10), Rate{QPS: 10, Burst: 100})
		k.Set(after(5), Rate{QPS: 1, Burst: 100})
		if got := granted(10, func() Decision { return k.Allow("ann", after(10)) }); got != 1 {
			t.Errorf("granted %d in 10 s at one in 10 s, want 1", got)
		}
	})
}

func TestReloadWhileTheClockIsSetBack(t *testing.T) {
	k := NewKeyed[string](Rate{QPS: 1, Burst: 10}, 10, noon)
	granted(10, func() Decision { return k.Allow("ann", after(3600)) })
	k.Set(after(3600), Rate{QPS: 2, Burst: 10})
	k.Set(noon, Rate{QPS: 3, Burst: 10})
	if got := granted(20, func() Decision { return k.Allow("ann", noon) }); got != 0 {
		t.Errorf("granted %d when the clock was set back, want 0", got)
	}
	if got := granted(20, func() Decision { return k.Allow("ann", after(2)) }); got != 6 {
		t.Errorf("granted %d in the 2 s that followed at 3 a second, want 6", got)
	}
}
