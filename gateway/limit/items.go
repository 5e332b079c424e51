package limit

import (
	"maps"
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

func (r ItemRates) clone() ItemRates {
	return ItemRates{Default: r.Default, Overrides: maps.Clone(r.Overrides)}
}

// Items holds one bucket for each item on sale. Ask it only for items of the
// catalogue: that keeps the table small. It is bounded all the same: an item
// with a rate of its own always gets a bucket, of others there are maxItems at
// most. Beyond that the buckets that nobody uses make room, and where all are in
// use, the items that found no room share one more bucket.
type Items struct{ table itemTable[*Bucket] }

// NewItems returns a table for at most maxItems items of the default rate; below
// 1 counts as 1.
func NewItems(rates ItemRates, maxItems int) *Items {
	t := &Items{}
	t.table.newOne = func(_ string, r Rate) *Bucket { return NewBucket(r) }
	t.table.init(rates, maxItems, NewBucket(rates.Default))
	return t
}

// Allow decides one request for item at the time now. It allocates only the
// first time for an item.
func (t *Items) Allow(item string, now time.Time) Decision { return t.table.allow(item, now) }

// Set changes the rates from now on, with the rule of Bucket.Set: no item gets a
// fresh burst. The maps are copied.
func (t *Items) Set(now time.Time, rates ItemRates) { t.table.set(now, rates) }

// Len returns how many items have a bucket.
func (t *Items) Len() int { return t.table.len() }
