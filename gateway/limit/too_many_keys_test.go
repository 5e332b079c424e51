package limit

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

// slack is what may be there beyond the bound between two clean-ups of the
// table, which it does by itself while others write: a few hundred.
const slack = 1024

func TestFloodOfKeysStaysWithinTheBound(t *testing.T) {
	const writers, each, bound = 8, manyKeys / 8, 10_000
	k := NewKeyed[string](Rate{QPS: 5, Burst: 5}, bound, noon)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			key := make([]byte, 0, 32)
			for i := range each {
				key = strconv.AppendInt(append(key[:0], "user-"...), int64(g*each+i), 10)
				if !AllowBytes(k, key, noon.Add(time.Duration(i)*time.Microsecond)).OK {
					t.Errorf("the first request of %s was refused", key)
				}
			}
		})
	}
	wg.Wait()
	if n := k.Len(); n > bound+slack {
		t.Errorf("%d buckets before a clean-up, want at most %d", n, bound+slack)
	}
	k.table.CleanUp()
	if n := k.Len(); n > bound {
		t.Errorf("%d buckets after a clean-up, want at most %d", n, bound)
	}
}

func TestNoBoundIsABoundOfOne(t *testing.T) {
	for _, bound := range []int{0, -1} {
		k := NewKeyed[int](Rate{QPS: 5, Burst: 5}, bound, noon)
		for key := range 1000 {
			k.Allow(key, noon)
		}
		k.table.CleanUp()
		if n := k.Len(); n > 1 {
			t.Errorf("a bound of %d keeps %d buckets, want at most 1", bound, n)
		}
	}
}

func TestIdleBucketsAreForgotten(t *testing.T) {
	k := NewKeyed[int](Rate{QPS: 5, Burst: 5}, 10_000, noon)
	for key := range 1000 {
		k.Allow(key, noon)
	}
	k.Allow(0, after(10))
	k.table.CleanUp()
	if n := k.Len(); n != 1 {
		t.Errorf("%d buckets long after 999 of 1,000 would be full, want 1", n)
	}
}

func TestBucketThatIsNotFullIsRemembered(t *testing.T) {
	k := NewKeyed[string](Rate{QPS: 0.1, Burst: 5}, 100, noon)
	granted(5, func() Decision { return k.Allow("ann", noon) })
	for at := 1.0; at < 50; at++ {
		k.Allow("bob", after(at))
		k.table.CleanUp()
	}
	if got := granted(5, func() Decision { return k.Allow("ann", after(49)) }); got != 4 {
		t.Errorf("granted %d after 49 s at one in 10 s, want 4", got)
	}
}

func TestMoreItemsThanFitShareABucket(t *testing.T) {
	const bound = 10
	items := NewItems(ItemRates{Default: Rate{QPS: 1, Burst: 2}}, bound)
	total := 0
	for i := range 1000 {
		total += granted(3, func() Decision { return items.Allow(strconv.Itoa(i), noon) })
	}
	if n := items.Len(); n != bound {
		t.Errorf("%d buckets, want %d", n, bound)
	}
	if want := 2*bound + 2; total != want {
		t.Errorf("granted %d to 1,000 items, want %d: 2 for each that fits and 2 for all others", total, want)
	}
}

func TestSharedBucketTakesNewRates(t *testing.T) {
	items := NewItems(ItemRates{Default: Rate{QPS: 1, Burst: 2}}, 1)
	items.Allow("1", noon)
	items.Allow("2", noon)
	items.Set(noon, ItemRates{})
	if d := items.Allow("2", noon); !d.Closed {
		t.Errorf("an item that shares a bucket, after all were closed: %+v", d)
	}
}

func TestUnusedItemsMakeRoom(t *testing.T) {
	items := NewItems(ItemRates{Default: Rate{QPS: 1, Burst: 2}}, 3)
	for _, item := range []string{"1", "2", "3"} {
		items.Allow(item, noon)
	}
	granted(2, func() Decision { return items.Allow("3", after(3)) })
	for _, item := range []string{"4", "5"} {
		if got := granted(3, func() Decision { return items.Allow(item, after(3)) }); got != 2 {
			t.Errorf("granted %d to item %s, want a bucket of its own with 2", got, item)
		}
	}
	if got := granted(3, func() Decision { return items.Allow("3", after(3)) }); got != 0 {
		t.Errorf("granted %d to the item in use, want 0: it must not be forgotten", got)
	}
}

func TestItemWithItsOwnRateAlwaysHasABucket(t *testing.T) {
	items := NewItems(ItemRates{
		Default:   Rate{QPS: 1, Burst: 1},
		Overrides: map[string]Rate{"shut": {}},
	}, 1)
	items.Allow("1", noon)
	if d := items.Allow("shut", noon); !d.Closed {
		t.Errorf("the closed item in a full table: %+v", d)
	}
}
