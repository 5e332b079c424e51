package limit

import "time"

// ClusterItems holds one bucket for each item on sale, which all gateways share.
// It is bounded on each gateway like Items. Items that find no room share one
// more bucket, and share it with those that find none on other gateways.
type ClusterItems struct{ table itemTable[*ClusterBucket] }

// The keys of the accounts of items. An id can't make the one look like the other.
const (
	itemKey     = "item:"
	overflowKey = "items"
)

// Items returns a table for at most maxItems items of the default rate on this
// gateway; below 1 counts as 1. Ask for one table for each gateway.
func (c *Cluster) Items(rates ItemRates, maxItems int) *ClusterItems {
	t := &ClusterItems{}
	t.table.newOne = func(item string, r Rate) *ClusterBucket { return c.Bucket(itemKey+item, r) }
	t.table.drop = c.forget
	t.table.init(rates, maxItems, c.Bucket(overflowKey, rates.Default))
	return t
}

// Allow decides one request for item at the time now, as ClusterBucket.Allow does.
func (t *ClusterItems) Allow(item string, now time.Time) Decision { return t.table.allow(item, now) }

// Set changes the rates from now on, with the rule of ClusterBucket.Set: no item
// gets a fresh burst. The maps are copied.
func (t *ClusterItems) Set(now time.Time, rates ItemRates) { t.table.set(now, rates) }

// Len returns how many items have a bucket on this gateway.
func (t *ClusterItems) Len() int { return t.table.len() }
