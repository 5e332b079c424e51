package limit

import (
	"sync/atomic"
	"time"
)

// regime is one rate of a table and the time since when it holds. Each knows the
// one that came after, so a bucket that was last asked three changes ago applies
// all three, each from its own time on. Applying only the newest would let a
// fast old rate flow in until the bucket is asked again. Regimes that no bucket
// stands at any more are garbage.
type regime struct {
	rate  Rate
	since time.Time
	next  atomic.Pointer[regime]
}

// follower is a bucket that follows the regimes of a table, as late as it is
// asked.
type follower struct {
	Bucket
	regime *regime // that the bucket's rate is of; guarded by the bucket's mu
}

func newFollower(r *regime) *follower {
	f := &follower{regime: r}
	f.init(r.rate)
	return f
}

// Allow decides one request at the time now, under the newest regime.
func (f *follower) Allow(now time.Time) Decision {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.regime.next.Load() != nil {
		f.catchUp(now)
	}
	return f.allow(now)
}

// catchUp needs mu.
func (f *follower) catchUp(now time.Time) {
	seen := f.line.last
	t := f.line.at(now)
	for next := f.regime.next.Load(); next != nil; next = next.next.Load() {
		f.set(between(seen, next.since.Add(f.line.skew), t), next.rate)
		f.regime = next
	}
}

// between returns t, or the nearer end where t lies outside.
func between(low, t, high time.Time) time.Time {
	if t.After(high) {
		return high
	}
	if t.Before(low) {
		return low
	}
	return t
}
