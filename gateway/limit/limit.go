// Package limit decides how fast one address, one user, one item and everybody
// together may ask. Every scope is a token bucket: QPS tokens a second flow in,
// at most Burst are saved up, a granted request takes one, and a refused
// request takes none, so refusals never push recovery away.
//
// A bucket that starts full lets Burst + QPS × seconds through, so a Burst as
// large as QPS admits twice the rate in the first second. For scopes that all
// buyers share, a tenth of a second of the rate is a good Burst.
//
// The caller passes the time in. Pass what [time.Now] returned, whole: it carries
// Go's monotonic reading, which a step of the wall clock doesn't move. Bucket,
// Keyed and Items read no clock, wait for nobody and count on this node alone.
// A Cluster makes buckets that all nodes share; they may wait a little.
//
// All types are safe for concurrent use unless they say otherwise.
package limit

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Rate is what one bucket lets through.
type Rate struct {
	QPS   float64 // tokens a second; zero, negative or NaN means closed
	Burst int     // tokens that can be saved up; below 1 means closed
}

// Closed says that nothing at all passes, now or after any wait, until the rate
// is changed.
func (r Rate) Closed() bool { return !(r.QPS > 0) || r.Burst < 1 }

// Decision is a bucket's word on one request.
type Decision struct {
	OK     bool // granted: one token was spent
	Closed bool // refused, and no wait helps: RetryAfter is 0
	Rate   Rate // that this was decided by

	Remaining  int           // whole tokens left
	Reset      time.Duration // until the bucket is full, if nobody asks before; 0 when closed
	RetryAfter time.Duration // 0 when OK or closed; else waiting so long lets the next single request through
}

const (
	// maxQPS is one token a nanosecond, the resolution of time.Duration. Above
	// it the arithmetic of x/time/rate loses its meaning (an infinite rate
	// times no time is not a number), so a larger QPS counts as this one.
	maxQPS = 1e9
	// forever stands for waits that time.Duration can't hold, and leaves room
	// to add to it: 146 years.
	forever = time.Duration(math.MaxInt64 / 2)
)

// limit is the rate in the library's terms, where 0 means that nothing flows in.
func (r Rate) limit() rate.Limit {
	if r.Closed() {
		return 0
	}
	return rate.Limit(min(r.QPS, maxQPS))
}

// capacity is the Burst in the library's terms.
func (r Rate) capacity() int { return max(r.Burst, 0) }

// timeFor is how long so many tokens take to flow in, rounded up, so that a
// wait of that length is never a nanosecond short. The rate must not be closed.
func (r Rate) timeFor(tokens float64) time.Duration {
	ns := math.Ceil(tokens / float64(r.limit()) * 1e9)
	if ns >= float64(forever) {
		return forever
	}
	return max(time.Duration(ns), 0)
}

// fill is how long an empty bucket takes to be full.
func (r Rate) fill() time.Duration {
	if r.Closed() {
		return forever
	}
	return r.timeFor(float64(r.Burst))
}
