package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	goroutines = 64
	each       = 400
)

// storm asks from all goroutines at once while the clock moves on by step for
// each request, and returns how many were granted. Readings reach the bucket in
// any order, as they do in a server.
func storm(allow func(now time.Time) Decision, step time.Duration) int {
	var grants, clock atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				if allow(noon.Add(time.Duration(clock.Add(int64(step))))).OK {
					grants.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(grants.Load())
}

func TestStormStaysWithinTheLimit(t *testing.T) {
	const qps, burst = 1000, 50
	for _, step := range []time.Duration{0, 25 * time.Microsecond} { // all at one moment, or in 0.64 s
		for kind, s := range scopes(Rate{QPS: qps, Burst: burst}) {
			t.Run(step.String()+"/"+kind, func(t *testing.T) {
				elapsed := (goroutines * each * step).Seconds()
				want := burst + int(elapsed*qps)
				got := storm(s.allow, step)
				// A whole token is always taken at the next request, so none is
				// lost; the last may be a reading that came late.
				if got > want || got < want-1 {
					t.Errorf("granted %d, want %d", got, want)
				}
			})
		}
	}
}

func TestStormOverReloadsStaysWithinTheLargerLimit(t *testing.T) {
	low, high := Rate{QPS: 500, Burst: 20}, Rate{QPS: 1000, Burst: 50}
	for kind, s := range scopes(high) {
		t.Run(kind, func(t *testing.T) {
			done := make(chan struct{})
			var reloads sync.WaitGroup
			reloads.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-done:
						return
					default:
						s.set(noon, []Rate{low, high}[i%2])
					}
				}
			})
			got := storm(s.allow, 0)
			close(done)
			reloads.Wait()
			if got < low.Burst || got > high.Burst {
				t.Errorf("granted %d at one moment, want %d to %d", got, low.Burst, high.Burst)
			}
		})
	}
}

func TestNewKeysInAStormGetOneBucketEach(t *testing.T) {
	const keys = 100
	k := NewKeyed[int](Rate{QPS: 1, Burst: 3}, 10*keys, noon)
	var next atomic.Int64
	got := storm(func(time.Time) Decision { return k.Allow(int(next.Add(1))%keys, noon) }, 0)
	if got != 3*keys {
		t.Errorf("granted %d to %d keys at one moment, want 3 each", got, keys)
	}
}
