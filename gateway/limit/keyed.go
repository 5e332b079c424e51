package limit

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/maypok86/otter/v2"
)

// Keyed holds one bucket for each key, such as a user or an address. It never
// holds more than a fixed number: beyond that the least used one is forgotten,
// and starts full when its key comes back. So a flood of more keys than fit
// weakens this scope, and the scopes that all share must hold it.
//
// A bucket that nobody asks is forgotten once it would be full, since a new one
// is the same.
type Keyed[K comparable] struct {
	table   *otter.Cache[K, *follower]
	clock   tableClock
	keep    atomic.Int64           // how long an idle bucket is kept, ns
	current atomic.Pointer[regime] // that new buckets start with
	change  sync.Mutex             // one Set at a time
}

// keepMargin is added to the time that a bucket takes to fill: a second, since
// the table may forget so much early for an entry that is read often, and
// another for the grain of tableClock.
const keepMargin = 2 * time.Second

// NewKeyed returns a table of at most maxKeys buckets of that rate. A maxKeys
// below 1 counts as 1, never as unbounded. now is the time of the caller's clock,
// like everywhere else.
func NewKeyed[K comparable](r Rate, maxKeys int, now time.Time) *Keyed[K] {
	k := &Keyed[K]{clock: tableClock{start: now}}
	k.current.Store(&regime{rate: r, since: now})
	k.keep.Store(int64(keepFor(r)))
	k.table = otter.Must(&otter.Options[K, *follower]{
		MaximumSize: max(maxKeys, 1),
		ExpiryCalculator: otter.ExpiryAccessingFunc(func(otter.Entry[K, *follower]) time.Duration {
			return time.Duration(k.keep.Load())
		}),
		Clock: &k.clock,
	})
	return k
}

// Allow decides one request of key at the time now. It allocates only for a key
// that isn't in the table, and a closed table takes no new keys.
func (k *Keyed[K]) Allow(key K, now time.Time) Decision {
	if r := k.current.Load().rate; r.Closed() {
		return Decision{Closed: true, Rate: r}
	}
	k.clock.advance(now)
	f, ok := k.table.GetIfPresent(key)
	if !ok {
		f = k.add(key)
	}
	return f.Allow(now)
}

// AllowBytes is Allow for a key that lies in a buffer of the caller's. The buffer
// is copied only for a key that isn't in the table, and may be reused as soon as
// AllowBytes returns.
func AllowBytes(k *Keyed[string], key []byte, now time.Time) Decision {
	if r := k.current.Load().rate; r.Closed() {
		return Decision{Closed: true, Rate: r}
	}
	k.clock.advance(now)
	// A look-up keeps nothing of its key: hits and misses are noted by entry,
	// and an entry holds the copy that it was added with.
	f, ok := k.table.GetIfPresent(unsafe.String(unsafe.SliceData(key), len(key))) //nolint:gosec // as said above
	if !ok {
		f = k.add(string(key))
	}
	return f.Allow(now)
}

// add returns the bucket of a key that was not there a moment ago. Of two that
// add the same key at once, both get the same bucket.
func (k *Keyed[K]) add(key K) *follower {
	f, _ := k.table.SetIfAbsent(key, newFollower(k.current.Load()))
	return f
}

// Set changes the rate of every bucket from now on, with the same rule as
// Bucket.Set: nobody gets a fresh burst. The buckets follow when they are asked
// next, as if they had been told at once. Setting the rate that holds already
// changes nothing. Another one may take a walk over the table, a microsecond or
// less for each bucket, which holds up no requests.
func (k *Keyed[K]) Set(now time.Time, r Rate) {
	k.change.Lock()
	defer k.change.Unlock()
	last := k.current.Load()
	if last.rate == r {
		return
	}
	since := now
	if since.Before(last.since) {
		since = last.since
	}
	next := &regime{rate: r, since: since}
	last.next.Store(next)
	k.current.Store(next)
	k.keepAnew(now, keepFor(r))
}

// keepAnew gives every bucket the time to fill at a new rate. Those that were
// to be forgotten soon, because the old rate would have filled them, would else
// come back full.
func (k *Keyed[K]) keepAnew(now time.Time, keep time.Duration) {
	k.clock.advance(now)
	if k.keep.Swap(int64(keep)) == int64(keep) {
		return
	}
	for key := range k.table.Keys() {
		k.table.SetExpiresAfter(key, keep)
	}
}

// Len returns how many buckets there are, about.
func (k *Keyed[K]) Len() int { return k.table.EstimatedSize() }

func keepFor(r Rate) time.Duration { return min(r.fill(), forever-keepMargin) + keepMargin }
