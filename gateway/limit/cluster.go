package limit

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// defaultBound is a hundred round trips to a Redis nearby, and about what a
	// person still takes for at once (J. Nielsen, Usability Engineering, chapter 5).
	defaultBound = 100 * time.Millisecond
	// idleAfter is how long a bucket is not asked until its tokens go back to where
	// all gateways find them.
	idleAfter = time.Second
	// sweepIdleEvery is how often Run looks for idle buckets.
	sweepIdleEvery = 250 * time.Millisecond
	// expireAfter ends what Run should have given back: unspent tokens of a bucket
	// that was not asked for so long are forgotten.
	expireAfter = 2 * time.Second
)

// Meter counts what limits cost and when they are not shared. Calls must not
// block.
type Meter interface {
	Lease(result string) // a call to the ledger was answered: "granted", "refused" or "error"
	Alone(alone bool)    // this gateway counts for itself from now on, or with the others again
}

// ClusterOptions are what a Cluster needs. Only Ledger must be set.
type ClusterOptions struct {
	Ledger Ledger
	// Bound is the longest that a request waits for the ledger; 0 or less means
	// 100 ms. All calls for one lease together get seven eighths of it, so that who
	// waits hears of a failure in time.
	Bound time.Duration
	Now   func() time.Time // nil: time.Now. It must be the clock that Allow is told.
	Log   *slog.Logger     // nil: none
	Meter Meter            // nil: none
}

// Cluster makes buckets that several gateways share. Each gateway leases tokens
// from a common ledger, about a twentieth of a second's worth at a time, and spends
// them by itself, so a granted request costs the ledger a fraction of a call and a
// refused one costs it nothing. All gateways together grant at most
// Burst + QPS × seconds.
//
// While the ledger doesn't answer within the bound or answers an error, each
// gateway counts for itself, at the whole rate and from empty buckets. It asks
// again four times a second, without letting any request wait for it.
//
// Safe for concurrent use.
type Cluster struct {
	ledger Ledger
	bound  time.Duration
	now    func() time.Time
	meter  Meter
	outage outage

	mu      sync.Mutex
	buckets map[*ClusterBucket]struct{}
	closed  bool
	calls   sync.WaitGroup // added to under mu, and not once closed
}

// NewCluster returns a Cluster without any buckets. Have Run run beside it, and
// Close it at the end.
func NewCluster(o ClusterOptions) *Cluster {
	if o.Bound <= 0 {
		o.Bound = defaultBound
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	c := &Cluster{ledger: o.Ledger, bound: o.Bound, now: o.Now, meter: o.Meter, buckets: map[*ClusterBucket]struct{}{}}
	c.outage.init(o.Log, o.Meter)
	return c
}

// Run gives the tokens of idle buckets back, until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	tick := time.NewTicker(sweepIdleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = c.giveBack(ctx, idleAfter) // what it could not give back is forgotten
		}
	}
}

// Close gives all unspent tokens back. It ends when ctx does, at the latest, and
// reports whether all of it was done. Whoever asks a bucket afterwards finds this
// gateway counting for itself.
func (c *Cluster) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.outage.end(c.now())
	done := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.giveBack(ctx, 0)
}

// giveBack returns the tokens of all buckets that were not asked for so long, one
// after the other, up to the first error: the others' tokens are then forgotten
// without waiting for the ledger once for each.
func (c *Cluster) giveBack(ctx context.Context, idle time.Duration) (err error) {
	for _, b := range c.all() {
		rate, n := b.drain(idle)
		if n == 0 || err != nil {
			continue
		}
		s := c.outage.spell()
		if s.away && !s.ended {
			continue
		}
		if err = c.giveOne(ctx, b.key, rate, n); err != nil && ctx.Err() == nil {
			c.outage.lost(s, c.now(), err)
		}
	}
	return err
}

func (c *Cluster) giveOne(ctx context.Context, key string, r Rate, n int) error {
	ctx, cancel := context.WithTimeout(ctx, c.bound)
	defer cancel()
	return c.ledger.Return(ctx, key, r, n)
}

func (c *Cluster) all() []*ClusterBucket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.buckets))
}

// forget drops a bucket that holds no tokens.
func (c *Cluster) forget(b *ClusterBucket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.buckets, b)
}

// start runs a call to the ledger that Close waits for, and reports false if it
// is too late for one.
func (c *Cluster) start(call func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.bound-c.bound/8)
		defer cancel()
		call(ctx)
	})
	return true
}

type noMeter struct{}

func (noMeter) Lease(string) {}
func (noMeter) Alone(bool)   {}
