package limit

import (
	"sync"
	"time"
)

// maxWaiters bounds the requests that wait for one lease. More find the ledger
// slower than they come.
const maxWaiters = 1024

// ClusterBucket is a bucket that all gateways with the same key and rate share. It
// holds tokens that were leased for this gateway, the pot.
type ClusterBucket struct {
	c   *Cluster
	key string

	mu    sync.Mutex
	rate  Rate
	line  timeline
	asked time.Time // last, on the line
	pot   int       // tokens leased and not spent
	none  time.Time // on the line: the ledger has no lease for us before then
	call  *call     // to the ledger, under way; nil for none

	waiting int // requests that wait for a call

	sets    uint64 // changes of the rate so far
	settled era    // in which the account was last known to hold nothing unearned

	local      *Bucket // while the ledger is away
	localSince *spell  // that local belongs to
}

// era tells apart times between which an account's state isn't to be trusted: when
// the ledger was away, this gateway granted by itself what flowed into the
// account; after a change of the rate the account is another one, which is full
// if nobody has used it. So the first lease of an era empties the account.
type era struct {
	spell *spell
	sets  uint64
}

// Bucket returns a bucket of that rate, which shares its tokens with those of the
// same key and rate on other gateways. Ask for a key once for each gateway. The
// key must not hold braces.
func (c *Cluster) Bucket(key string, r Rate) *ClusterBucket {
	b := &ClusterBucket{c: c, key: key, rate: r, settled: era{spell: c.outage.spell()}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buckets[b] = struct{}{}
	return b
}

// Allow decides one request at the time now. It is immediate while there are
// tokens here, while the ledger's last word was that there are none, and while the
// ledger is away. Else it waits for a lease, for the bound of the cluster at most.
// Remaining counts the tokens that are here, and Reset assumes that the account
// holds no others.
func (b *ClusterBucket) Allow(now time.Time) Decision {
	b.mu.Lock()
	d, lease := b.decide(now, true)
	b.mu.Unlock()
	if lease != nil {
		return b.await(lease)
	}
	return d
}

// Set changes the rate from now on. The tokens that are here stay, capped at the
// new Burst, and the account of the new rate begins empty: neither a lower nor a
// higher rate hands out a burst of its own. While some gateways still go by the
// old rate, they draw on its account. Setting the rate that holds already changes
// nothing.
func (b *ClusterBucket) Set(now time.Time, r Rate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r == b.rate {
		return
	}
	b.line.at(now)
	b.rate, b.none = r, time.Time{}
	b.sets++
	b.keep(b.pot)
	if b.local != nil {
		b.local.Set(now, r)
	}
}

// decide returns a decision, or what to wait for if the caller may wait. It needs
// mu.
func (b *ClusterBucket) decide(now time.Time, mayWait bool) (Decision, *call) {
	t := b.line.at(now)
	if t.Sub(b.asked) >= expireAfter {
		b.pot = 0
	}
	b.asked = t
	if b.rate.Closed() {
		return Decision{Closed: true, Rate: b.rate}, nil
	}
	s := b.c.outage.spell()
	if b.pot > 0 {
		return b.spend(t, s), nil
	}
	if s.away {
		return b.alone(now, s), nil
	}
	// The caller waits from its own now, which may lie behind t.
	behind := t.Sub(now.Add(b.line.skew))
	if wait := b.none.Sub(t); wait > 0 {
		return b.refuse(wait + behind), nil
	}
	if mayWait {
		if lease := b.lease(s); lease != nil && b.waiting < maxWaiters {
			b.waiting++
			return Decision{}, lease
		}
	}
	return b.refuse(b.c.bound + behind), nil // by then the call has ended
}

// keep makes n tokens the pot, as far as the rate lets it hold them. It needs mu.
func (b *ClusterBucket) keep(n int) {
	if b.rate.Closed() {
		n = 0
	}
	b.pot = min(n, b.rate.capacity())
}

// spend grants a request from the pot, and has it filled again before it is empty:
// a busy gateway doesn't wait. It needs mu.
func (b *ClusterBucket) spend(t time.Time, s *spell) Decision {
	b.pot--
	if b.pot < b.rate.lease()/2 && !s.away && !t.Before(b.none) {
		b.lease(s)
	}
	return Decision{
		OK:        true,
		Rate:      b.rate,
		Remaining: b.pot,
		Reset:     b.rate.timeFor(float64(b.rate.Burst - b.pot)),
	}
}

func (b *ClusterBucket) refuse(wait time.Duration) Decision {
	return Decision{Rate: b.rate, Reset: b.rate.fill(), RetryAfter: wait}
}

// alone decides while the ledger is away, by what flowed in since then. It needs
// mu.
func (b *ClusterBucket) alone(now time.Time, s *spell) Decision {
	if b.localSince != s {
		b.local, b.localSince = NewBucket(Rate{}), s // closed, so it is empty
		b.local.Set(s.since, b.rate)
	}
	if b.call == nil && b.c.outage.claim(s, now) {
		if b.lease(s) == nil {
			b.c.outage.release()
		}
	}
	return b.local.Allow(now)
}

// idle says that forgetting this bucket and making a new one of the same rate
// hands out nothing: no tokens are here, and the account had the time to fill.
func (b *ClusterBucket) idle(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate.Closed() {
		return true
	}
	unasked := b.line.at(now).Sub(b.asked)
	return b.pot == 0 && b.call == nil && unasked >= max(idleAfter, b.rate.fill())
}

// drain takes the tokens out of a bucket that was not asked for so long.
func (b *ClusterBucket) drain(idle time.Duration) (Rate, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pot == 0 || b.line.at(b.c.now()).Sub(b.asked) < idle {
		return b.rate, 0
	}
	n := b.pot
	b.pot = 0
	return b.rate, n
}
