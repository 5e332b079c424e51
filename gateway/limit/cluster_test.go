package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFirstRequestOnAnIdleClusterIsGranted(t *testing.T) {
	for name, r := range map[string]Rate{
		"slow": {QPS: 0.1, Burst: 1}, "small": {QPS: 3, Burst: 3}, "fast": {QPS: 5000, Burst: 500}, "burst of one": {QPS: 5000, Burst: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := NewCluster(ClusterOptions{Ledger: newBooks()})
			defer closeCluster(t, c)
			if d := c.Bucket("global", r).Allow(time.Now()); !d.OK {
				t.Errorf("%s: %+v", name, d)
			}
		})
	}
}

// One gateway alone grants what a bucket of its own would.
func TestWholeBurstPasses(t *testing.T) {
	for _, r := range []Rate{{QPS: 200, Burst: 11}, {QPS: 3, Burst: 3}, {QPS: 20, Burst: 200}, {QPS: 2000, Burst: 200}} {
		synctest.Test(t, func(t *testing.T) {
			c := NewCluster(ClusterOptions{Ledger: newBooks()})
			defer closeCluster(t, c)
			b := c.Bucket("global", r)
			if got := granted(2*r.Burst, func() Decision { return settled(b) }); got != r.Burst {
				t.Errorf("%+v: granted %d one after the other, want the burst", r, got)
			}
			time.Sleep(time.Minute)
			if got := rush(2*r.Burst, func() Decision { return b.Allow(time.Now()) }); got != r.Burst {
				t.Errorf("%+v: granted %d at once, want the burst", r, got)
			}
		})
	}
}

// settled decides once calls in the background have ended.
func settled(b *ClusterBucket) Decision {
	synctest.Wait()
	return b.Allow(time.Now())
}

func TestDecisionsOfAClusterBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(ClusterOptions{Ledger: newBooks()})
		defer closeCluster(t, c)
		four := Rate{QPS: 40, Burst: 4}
		b := c.Bucket("global", four)
		want := []Decision{
			{OK: true, Rate: four, Remaining: 1, Reset: 75 * time.Millisecond},
			{OK: true, Rate: four, Remaining: 0, Reset: 100 * time.Millisecond},
			{OK: true, Rate: four, Remaining: 1, Reset: 75 * time.Millisecond},
			{OK: true, Rate: four, Remaining: 0, Reset: 100 * time.Millisecond},
			{Rate: four, Remaining: 0, Reset: 100 * time.Millisecond, RetryAfter: 50*time.Millisecond + 1},
		}
		for i := range want {
			if diff := cmp.Diff(want[i], settled(b)); diff != "" {
				t.Errorf("request %d: (-want +got)\n%s", i, diff)
			}
		}
	})
}

func TestClosedClusterBucketAsksNobody(t *testing.T) {
	for name, r := range closedRates {
		t.Run(name, func(t *testing.T) {
			ledger := newBooks()
			c := NewCluster(ClusterOptions{Ledger: ledger})
			defer closeCluster(t, c)
			b, items := c.Bucket("global", r), c.Items(ItemRates{Default: r}, 10)
			for _, d := range []Decision{b.Allow(time.Now()), items.Allow("1001", time.Now())} {
				if d.OK || !d.Closed || d.RetryAfter != 0 {
					t.Errorf("%+v, want closed", d)
				}
			}
			if n := ledger.calls(); n != 0 {
				t.Errorf("%d calls to the ledger, want none", n)
			}
		})
	}
}

// Refusals cost the ledger nothing: however many ask, it hears a few calls for
// each lease.
func TestRefusedCostsTheLedgerNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		c := NewCluster(ClusterOptions{Ledger: ledger})
		defer closeCluster(t, c)
		r := Rate{QPS: 100, Burst: 10}
		b := c.Bucket("global", r)
		count := 0
		for range 20_000 { // in 2 s
			if settled(b).OK {
				count++
			}
			time.Sleep(100 * time.Microsecond)
		}
		if want := 10 + 200; count < want-5 || count > want {
			t.Errorf("granted %d, want about %d", count, want)
		}
		if n := ledger.calls(); n > 3*2*leasesPerSecond {
			t.Errorf("%d calls for 20,000 requests, want at most three for each of 40 leases", n)
		}
	})
}

func TestClusterRetryAfterIsTrue(t *testing.T) {
	for _, r := range []Rate{{QPS: 0.7, Burst: 1}, {QPS: 3, Burst: 3}, {QPS: 200, Burst: 11}, {QPS: 2000, Burst: 200}} {
		synctest.Test(t, func(t *testing.T) {
			ledger := newBooks()
			ledger.latency.Store(int64(time.Millisecond))
			c := NewCluster(ClusterOptions{Ledger: ledger})
			defer closeCluster(t, c)
			b := c.Bucket("global", r)
			for range 50 {
				d := b.Allow(time.Now())
				for d.OK {
					d = b.Allow(time.Now())
				}
				if d.RetryAfter <= 0 || d.RetryAfter > r.timeFor(float64(r.lease()))+time.Millisecond {
					t.Fatalf("%+v: refused with RetryAfter %v", r, d.RetryAfter)
				}
				time.Sleep(d.RetryAfter)
				if d := b.Allow(time.Now()); !d.OK {
					t.Fatalf("%+v: waited as told, refused again: %+v", r, d)
				}
			}
		})
	}
}

// A clock without a monotonic reading that is set back neither closes the bucket
// for the step nor lets the same stretch flow in twice.
func TestClusterBucketOutlivesAClockSetBack(t *testing.T) {
	for _, step := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var skew time.Duration
			now := func() time.Time { return time.Now().Round(0).Add(skew) }
			c := NewCluster(ClusterOptions{Ledger: newBooks(), Now: now})
			defer closeCluster(t, c)
			b := c.Bucket("global", Rate{QPS: 10, Burst: 1})
			second := func() (n int) {
				for range 1000 {
					if b.Allow(now()).OK {
						n++
					}
					time.Sleep(time.Millisecond)
				}
				return n
			}
			before := second()
			skew = step
			if after := second(); before < 10 || after < 9 || after > 11 {
				t.Errorf("step %v: granted %d in the second before and %d in the one after, want about 10", step, before, after)
			}
		})
	}
}

// A busy gateway leases ahead: nobody waits for the ledger while there are tokens.
func TestBusyBucketIsRefilledAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		ledger.latency.Store(int64(5 * time.Millisecond))
		c := NewCluster(ClusterOptions{Ledger: ledger})
		defer closeCluster(t, c)
		b := c.Bucket("global", Rate{QPS: 2000, Burst: 400})
		b.Allow(time.Now())
		for i := range 2000 { // at half the rate
			time.Sleep(time.Millisecond)
			asked := time.Now()
			if d := b.Allow(asked); !d.OK {
				t.Fatalf("request %d: %+v", i, d)
			}
			if waited := time.Since(asked); waited != 0 {
				t.Fatalf("request %d waited %v", i, waited)
			}
		}
	})
}

func TestOneLeaseAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		ledger.latency.Store(int64(10 * time.Millisecond))
		c := NewCluster(ClusterOptions{Ledger: ledger})
		defer closeCluster(t, c)
		b := c.Bucket("global", Rate{QPS: 10, Burst: 1000})
		if got := rush(1000, func() Decision { return b.Allow(time.Now()) }); got != 1000 {
			t.Errorf("granted %d, want the burst of 1000", got)
		}
		if n := ledger.calls(); n > 2 {
			t.Errorf("%d calls for 1000 requests at one moment, want them to share two at most", n)
		}
	})
}

func TestWaitersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		ledger.frozen.Store(true)
		c := NewCluster(ClusterOptions{Ledger: ledger})
		b := c.Bucket("global", Rate{QPS: 1e6, Burst: 1e6})
		for range maxWaiters {
			go b.Allow(time.Now())
		}
		synctest.Wait()
		asked := time.Now()
		if d := b.Allow(asked); d.OK || d.RetryAfter != defaultBound || !time.Now().Equal(asked) {
			t.Errorf("one too many waited %v and got %+v", time.Since(asked), d)
		}
		time.Sleep(defaultBound)
		synctest.Wait()
		_ = c.Close(t.Context()) // the ledger is frozen
	})
}

func TestClusterDecisionAllocatesNothing(t *testing.T) {
	c := NewCluster(ClusterOptions{Ledger: newBooks()})
	defer closeCluster(t, c)
	full := c.Bucket("full", Rate{QPS: 1e-3, Burst: 1e6})
	full.keep(1e5)
	full.asked = time.Now()
	empty := c.Bucket("empty", Rate{QPS: 1e-3, Burst: 1})
	empty.Allow(time.Now())
	items := c.Items(ItemRates{Default: Rate{QPS: 1e-3, Burst: 1}}, 10)
	items.Allow("1001", time.Now())
	for name, tt := range map[string]struct {
		allow func() Decision
		ok    bool
	}{
		"from the pot":             {func() Decision { return full.Allow(time.Now()) }, true},
		"refused by the last word": {func() Decision { return empty.Allow(time.Now()) }, false},
		"item":                     {func() Decision { return items.Allow("1001", time.Now()) }, false},
	} {
		tt.allow() // the word comes with the first refusal
		allocs := testing.AllocsPerRun(1000, func() {
			if d := tt.allow(); d.OK != tt.ok {
				t.Errorf("%s: %+v", name, d)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations, want 0", name, allocs)
		}
	}
}

func TestForgottenItemsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(ClusterOptions{Ledger: newBooks()})
		defer closeCluster(t, c)
		ctx, stop := context.WithCancel(t.Context())
		go c.Run(ctx)
		defer func() { stop(); synctest.Wait() }()
		items := c.Items(ItemRates{Default: Rate{QPS: 100, Burst: 10}}, 3)
		for i := range 100 {
			items.Allow(string(rune('A'+i)), time.Now())
			time.Sleep(time.Second)
		}
		if n, all := items.Len(), len(c.all()); n > 3 || all > 4 {
			t.Errorf("%d items and %d buckets, want at most 3, and one for those without room", n, all)
		}
	})
}
