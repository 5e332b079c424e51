package limit

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// closedRates are all that let nobody through. golang.org/x/time/rate would
// grant the burst of the first one.
var closedRates = map[string]Rate{
	"no rate, some burst": {QPS: 0, Burst: 5},
	"nothing at all":      {},
	"some rate, no burst": {QPS: 5, Burst: 0},
	"negative rate":       {QPS: -1, Burst: 5},
	"negative burst":      {QPS: 5, Burst: -5},
	"not a number":        {QPS: math.NaN(), Burst: 5},
}

func TestClosedGrantsNothing(t *testing.T) {
	for name, r := range closedRates {
		t.Run(name, func(t *testing.T) {
			bucket := NewBucket(r)
			keyed := NewKeyed[string](r, 10, noon)
			items := NewItems(ItemRates{Default: r}, 10)
			scopes := map[string]func(time.Time) Decision{
				"bucket": bucket.Allow,
				"key":    func(now time.Time) Decision { return keyed.Allow("ann", now) },
				"bytes":  func(now time.Time) Decision { return AllowBytes(keyed, []byte("ann"), now) },
				"item":   func(now time.Time) Decision { return items.Allow("1001", now) },
			}
			want := Decision{Closed: true, Rate: r}
			for scope, allow := range scopes {
				for _, now := range []time.Time{noon, after(0.5), after(86400)} {
					if diff := cmp.Diff(want, allow(now), cmpopts.EquateNaNs()); diff != "" {
						t.Errorf("%s at %v: (-want +got)\n%s", scope, now, diff)
					}
				}
			}
			if n := keyed.Len(); n != 0 {
				t.Errorf("the closed table took in %d keys, want none", n)
			}
		})
	}
}

func TestClosingAnItemLeavesTheOthersOpen(t *testing.T) {
	items := NewItems(ItemRates{
		Default:   Rate{QPS: 1, Burst: 1},
		Overrides: map[string]Rate{"1001": {}},
	}, 10)
	if d := items.Allow("1001", noon); !d.Closed {
		t.Errorf("the closed item: %+v", d)
	}
	if d := items.Allow("1002", noon); !d.OK {
		t.Errorf("another item: %+v", d)
	}
}

func TestOpeningHandsOutOnlyWhatFlowsInFromThenOn(t *testing.T) {
	b := NewBucket(Rate{QPS: 0, Burst: 5})
	b.Set(after(60), Rate{QPS: 5, Burst: 5})
	allow := func(at float64) int { return granted(10, func() Decision { return b.Allow(after(at)) }) }
	if got := allow(60); got != 0 {
		t.Errorf("granted %d at the moment of opening, want 0", got)
	}
	if got := allow(60.4); got != 2 {
		t.Errorf("granted %d after 0.4 s at 5 a second, want 2", got)
	}
}

func TestClosedKeepsWhatItHad(t *testing.T) {
	open := Rate{QPS: 5, Burst: 5}
	b := NewBucket(open)
	granted(3, func() Decision { return b.Allow(noon) })
	b.Set(noon, Rate{QPS: 0, Burst: 5})
	b.Allow(after(1800))
	b.Set(after(3600), open)
	if got := granted(10, func() Decision { return b.Allow(after(3600)) }); got != 2 {
		t.Errorf("granted %d after an hour closed, want the 2 that were left", got)
	}
}
