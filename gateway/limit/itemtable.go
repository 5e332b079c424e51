package limit

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// itemBucket is what a table of items needs of the buckets in it.
type itemBucket interface {
	comparable
	Allow(now time.Time) Decision
	Set(now time.Time, r Rate)
	idle(now time.Time) bool
}

// itemTable holds one bucket for each item on sale, and a bounded number of them.
// Reading takes no lock; a new item copies the table, which is rare and small.
type itemTable[B itemBucket] struct {
	buckets  atomic.Pointer[map[string]B] // replaced, never changed
	maxItems int
	newOne   func(item string, r Rate) B
	drop     func(B) // a bucket was forgotten; may be nil

	change   sync.Mutex // guards what follows, and replacing buckets
	rates    ItemRates
	overflow B
	swept    time.Time // when room was last looked for
}

// sweepEvery bounds how often a full table is searched for buckets that nobody
// uses, since the search and the copy take time in proportion to its size.
const sweepEvery = time.Second

func (t *itemTable[B]) init(rates ItemRates, maxItems int, overflow B) {
	t.maxItems, t.rates, t.overflow = max(maxItems, 1), rates.clone(), overflow
	t.buckets.Store(&map[string]B{})
}

func (t *itemTable[B]) allow(item string, now time.Time) Decision {
	b, ok := (*t.buckets.Load())[item]
	if !ok {
		b = t.add(item, now)
	}
	return b.Allow(now)
}

func (t *itemTable[B]) set(now time.Time, rates ItemRates) {
	t.change.Lock()
	defer t.change.Unlock()
	t.rates = rates.clone()
	for item, b := range *t.buckets.Load() {
		b.Set(now, t.rates.of(item))
	}
	t.overflow.Set(now, t.rates.Default)
}

func (t *itemTable[B]) len() int { return len(*t.buckets.Load()) }

// add returns the bucket of an item that was not there a moment ago.
func (t *itemTable[B]) add(item string, now time.Time) B {
	t.change.Lock()
	defer t.change.Unlock()
	if b, ok := (*t.buckets.Load())[item]; ok {
		return b
	}
	if _, own := t.rates.Overrides[item]; !own && !t.room(now) {
		return t.overflow
	}
	b := t.newOne(item, t.rates.of(item))
	buckets := maps.Clone(*t.buckets.Load())
	buckets[item] = b
	t.buckets.Store(&buckets)
	return b
}

// room says whether one more item of the default rate fits, after making room if
// need be. A request that holds a bucket at the moment when it is forgotten
// still takes its token there. It needs change.
func (t *itemTable[B]) room(now time.Time) bool {
	if t.len() < t.maxItems {
		return true
	}
	if since := now.Sub(t.swept); since >= 0 && since < sweepEvery {
		return false
	}
	t.swept = now
	buckets := maps.Clone(*t.buckets.Load())
	for item, b := range buckets {
		if !b.idle(now) {
			continue
		}
		delete(buckets, item)
		if t.drop != nil {
			t.drop(b)
		}
	}
	t.buckets.Store(&buckets)
	return len(buckets) < t.maxItems
}
