package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bucket limits one scope: all requests together, one item, one user.
//
// A new bucket is full. One that is created closed is empty, so that opening it
// hands out nothing but what flows in from then on. While a bucket is closed
// nothing flows in and nothing is spent: it keeps what it had, up to the Burst
// that it was closed with.
type Bucket struct {
	// mu makes a decision and what is told about it one moment. The limiter has
	// a lock of its own, but needs several calls for one decision.
	mu   sync.Mutex
	lim  *rate.Limiter
	rate Rate
	line timeline
}

// NewBucket returns a bucket of that rate.
func NewBucket(r Rate) *Bucket {
	b := &Bucket{}
	b.init(r)
	return b
}

func (b *Bucket) init(r Rate) {
	b.rate = r
	if r.Closed() {
		b.lim = rate.NewLimiter(0, 0) // the library's NewLimiter(0, 5) would grant five
		return
	}
	b.lim = rate.NewLimiter(r.limit(), r.capacity())
}

// Allow decides one request at the time now.
func (b *Bucket) Allow(now time.Time) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.allow(now)
}

// Set changes the rate from now on. The tokens stay what they are, capped at the
// new Burst: neither a lower nor a higher rate hands out a burst of its own.
// Setting the rate that holds already changes nothing.
func (b *Bucket) Set(now time.Time, r Rate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(b.line.at(now), r)
}

// allow needs mu.
func (b *Bucket) allow(now time.Time) Decision {
	t := b.line.at(now)
	if b.rate.Closed() {
		return Decision{Closed: true, Rate: b.rate}
	}
	ok := b.lim.AllowN(t, 1)
	tokens := b.lim.TokensAt(t)
	d := Decision{
		OK:        ok,
		Rate:      b.rate,
		Remaining: max(int(tokens), 0),
		Reset:     b.rate.timeFor(float64(b.rate.Burst) - tokens),
	}
	if !ok {
		// The caller waits from its own now, which may lie behind t. One
		// nanosecond pays for the rounding inside the limiter.
		behind := t.Sub(now.Add(b.line.skew))
		d.RetryAfter = b.rate.timeFor(1-tokens) + behind + 1
	}
	return d
}

// set needs mu, and a time of the bucket's own line.
func (b *Bucket) set(t time.Time, r Rate) {
	b.lim.SetLimitAt(t, r.limit())
	b.lim.SetBurstAt(t, r.capacity())
	b.rate = r
}

// idle says that forgetting this bucket and making a new one of the same rate
// hands out nothing: it is full, or it is closed.
func (b *Bucket) idle(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rate.Closed() || b.lim.TokensAt(b.line.at(now)) >= float64(b.rate.Burst)
}
