package limit

import (
	"context"
	"math"
	"time"
)

// leasesPerSecond is into how many leases a second's tokens are cut: few enough
// that the ledger's cost vanishes, many enough that what lies in the pots of idle
// gateways doesn't show.
const leasesPerSecond = 20

// lease is how many tokens are leased at a time. It is half of the Burst at most:
// an account that had to be full for the next lease would lose what flows in from
// that moment until somebody asks.
func (r Rate) lease() int {
	return int(max(1, min(r.QPS/leasesPerSecond, float64(r.Burst)/2)))
}

// wordGrain is by how much a ledger may round its word up. Asking for a token that
// is not there yet costs a refusal.
const wordGrain = 2 * time.Microsecond

// flow is how many tokens flow in during d.
func (r Rate) flow(d time.Duration) float64 { return d.Seconds() * float64(r.limit()) }

// call is one call for tokens.
type call struct {
	done chan struct{} // closed when the bucket knows the answer
}

// lease returns the call that is under way, and starts one if there is none; nil
// if that can't be. It needs mu.
func (b *ClusterBucket) lease(s *spell) *call {
	if b.call != nil {
		return b.call
	}
	lease := &call{done: make(chan struct{})}
	if !b.c.start(func(ctx context.Context) { b.run(ctx, lease, s) }) {
		return nil
	}
	b.call = lease
	return lease
}

// await waits for a lease and decides again, until there is a decision or the
// bound is reached.
func (b *ClusterBucket) await(lease *call) Decision {
	bound := time.NewTimer(b.c.bound)
	defer bound.Stop()
	for mayWait := true; ; {
		select {
		case <-lease.done:
		case <-bound.C:
			mayWait = false
		}
		b.mu.Lock()
		b.waiting--
		d, next := b.decide(b.c.now(), mayWait)
		b.mu.Unlock()
		if next == nil {
			return d
		}
		lease = next
	}
}

// run makes a call in the spell s and tells the bucket, then those who wait.
func (b *ClusterBucket) run(ctx context.Context, lease *call, s *spell) {
	defer close(lease.done)
	if s.away {
		defer b.c.outage.release()
	}
	d, in := b.order(s)
	if d == nil {
		return
	}
	err := d.make(ctx)
	b.c.meter.Lease(d.result(err))
	now := b.c.now()
	if err != nil {
		b.c.outage.lost(s, now, err)
	} else if s.away {
		in.spell = b.c.outage.found(s, now)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	b.call = nil
	if err == nil {
		b.take(d, in, now)
	}
}

// order says what the call is to get and in which era, or nil if the rate was
// closed meanwhile.
func (b *ClusterBucket) order(s *spell) (*draw, era) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate.Closed() {
		b.call = nil
		return nil, era{}
	}
	in := era{spell: s, sets: b.sets}
	return &draw{
		ledger: b.c.ledger, key: b.key, rate: b.rate,
		n:      max(1, min(max(b.rate.lease(), b.waiting-b.pot), b.rate.Burst-b.pot)),
		settle: b.settled != in,
	}, in
}

// take puts what was leased into the pot. Tokens of a rate that was changed
// meanwhile are as good as those that were here then. It needs mu.
func (b *ClusterBucket) take(d *draw, in era, now time.Time) {
	b.keep(b.pot + d.granted)
	if in.sets != b.sets {
		return
	}
	b.settled = in
	if d.wait > 0 {
		b.none = b.line.at(now).Add(d.wait)
	}
}

// draw gets tokens from a ledger: n of them, or what there is.
type draw struct {
	ledger Ledger
	key    string
	rate   Rate
	n      int
	settle bool // empty the account first

	granted int
	wait    time.Duration // until there is a lease; 0 if that is not known
}

// make makes the calls. Where n tokens are not there, the ledger's word tells how
// many are: taking those at once spares a burst its last few refusals, and the
// word on the next lease spares the ledger a call for each token after them.
func (d *draw) make(ctx context.Context) error {
	if d.settle {
		if err := d.ledger.Empty(ctx, d.key, d.rate); err != nil {
			return err
		}
	}
	ok, after, err := d.ledger.Take(ctx, d.key, d.rate, d.n)
	if err != nil {
		return err
	}
	if ok {
		d.granted = d.n
		return nil
	}
	rest := int(math.Floor(float64(d.n) - d.rate.flow(after-wordGrain)))
	if rest < 1 {
		d.wait = d.untilLease(after, d.n)
		return nil
	}
	ok, later, err := d.ledger.Take(ctx, d.key, d.rate, rest)
	switch {
	case err != nil:
		return err
	case ok:
		d.granted = rest
		d.wait = d.untilLease(after, d.n-rest)
	default:
		d.wait = d.untilLease(later, rest)
	}
	return nil
}

// untilLease is how long until a lease is there, if n tokens are there after so
// long.
func (d *draw) untilLease(after time.Duration, n int) time.Duration {
	missing := d.rate.lease() - n
	if missing < 0 {
		return max(after-d.rate.timeFor(float64(-missing)), 0)
	}
	return after + d.rate.timeFor(float64(missing))
}

func (d *draw) result(err error) string {
	switch {
	case err != nil:
		return "error"
	case d.granted > 0:
		return "granted"
	default:
		return "refused"
	}
}
