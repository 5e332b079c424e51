package limit

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// ItemRates are the rates of items: Default, except for those in Overrides (by
// item id).
type ItemRates struct {
	Default   Rate
	Overrides map[string]Rate
}

func (r ItemRates) of(item string) Rate {
	if o, ok := r.Overrides[item]; ok {
		return o
	}
	return r.Default
}

// Items holds one bucket for each item on sale. Ask it only for items of the
// catalogue: that keeps the table small. It is bounded all the same: an item
// with a rate of its own always gets a bucket, of others there are maxItems at
// most. Beyond that the buckets that nobody uses make room, and where all are in
// use, the items that found no room share one more bucket.
//
// Reading takes no lock; a new item copies the table, which is rare and small.
type Items struct {
	buckets  atomic.Pointer[map[string]*Bucket] // replaced, never changed
	maxItems int

	change   sync.Mutex // guards what follows, and replacing buckets
	rates    ItemRates
	overflow *Bucket
	swept    time.Time // when room was last looked for
}

// sweepEvery bounds how often a full table is searched for buckets that nobody
// uses, since the search and the copy take time in proportion to its size.
const sweepEvery = time.Second

// NewItems returns an empty table for at most maxItems items of the default rate;
// below 1 counts as 1.
func NewItems(rates ItemRates, maxItems int) *Items {
	t := &Items{maxItems: max(maxItems, 1), rates: rates.clone(), overflow: NewBucket(rates.Default)}
	t.buckets.Store(&map[string]*Bucket{})
	return t
}

// Allow decides one request for item at the time now. It allocates only the
// first time for an item.
func (t *Items) Allow(item string, now time.Time) Decision {
	b, ok := (*t.buckets.Load())[item]
	if !ok {
		b = t.add(item, now)
	}
	return b.Allow(now)
}

// Set changes the rates from now on, with the rule of Bucket.Set: no item gets a
// fresh burst. The maps are copied.
func (t *Items) Set(now time.Time, rates ItemRates) {
	t.change.Lock()
	defer t.change.Unlock()
	t.rates = rates.clone()
	for item, b := range *t.buckets.Load() {
		b.Set(now, t.rates.of(item))
	}
	t.overflow.Set(now, t.rates.Default)
}

// Len returns how many items have a bucket.
func (t *Items) Len() int { return len(*t.buckets.Load()) }

// add returns the bucket of an item that was not there a moment ago.
func (t *Items) add(item string, now time.Time) *Bucket {
	t.change.Lock()
	defer t.change.Unlock()
	if b, ok := (*t.buckets.Load())[item]; ok {
		return b
	}
	if _, own := t.rates.Overrides[item]; !own && !t.room(now) {
		return t.overflow
	}
	b := NewBucket(t.rates.of(item))
	buckets := maps.Clone(*t.buckets.Load())
	buckets[item] = b
	t.buckets.Store(&buckets)
	return b
}

// room says whether one more item of the default rate fits, after making room if
// need be. A request that holds a bucket at the moment when it is forgotten
// still takes its token there. It needs change.
func (t *Items) room(now time.Time) bool {
	if t.Len() < t.maxItems {
		return true
	}
	if since := now.Sub(t.swept); since >= 0 && since < sweepEvery {
		return false
	}
	t.swept = now
	buckets := maps.Clone(*t.buckets.Load())
	maps.DeleteFunc(buckets, func(_ string, b *Bucket) bool { return b.idle(now) })
	t.buckets.Store(&buckets)
	return len(buckets) < t.maxItems
}

func (r ItemRates) clone() ItemRates {
	return ItemRates{Default: r.Default, Overrides: maps.Clone(r.Overrides)}
}
