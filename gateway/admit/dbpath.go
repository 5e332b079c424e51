package admit

import (
	"sync/atomic"
	"time"

	"rushgate/gateway/limit"
)

// DBPathLimit is what the sale on SQL alone may take: one hot row serves a few
// hundred single transactions a second, and more connections make it slower.
type DBPathLimit struct {
	QPS         float64 // 0: closed
	Concurrency int
}

// rate has a burst of a tenth of a second: a whole second's would let nearly
// twice the rate through in the first.
func (l DBPathLimit) rate() limit.Rate {
	return limit.Rate{QPS: l.QPS, Burst: max(1, int(l.QPS/10))}
}

// dbPath lets purchases through to SQL without the filter. Safe for concurrent use.
type dbPath struct {
	rate  *limit.Bucket
	slots slots
}

// busy is how long to stay away where nothing says when there is room again.
const busy = time.Second

func newDBPath(l DBPathLimit) *dbPath {
	d := &dbPath{rate: limit.NewBucket(l.rate())}
	d.slots.size.Store(int64(l.Concurrency))
	return d
}

// set changes the limit from now on.
func (d *dbPath) set(now time.Time, l DBPathLimit) {
	d.rate.Set(now, l.rate())
	d.slots.size.Store(int64(l.Concurrency))
}

// enter takes a slot, or says after how long to ask again. The slot comes
// first: a purchase that finds none spends no token.
func (d *dbPath) enter(now time.Time) (leave func(), err error) {
	if !d.slots.take() {
		return nil, &Overloaded{RetryAfter: busy}
	}
	switch word := d.rate.Allow(now); {
	case word.OK:
		return d.slots.free, nil
	case word.Closed:
		d.slots.free()
		return nil, &Overloaded{RetryAfter: busy} // the filter may be back by then
	default:
		d.slots.free()
		return nil, &Overloaded{RetryAfter: word.RetryAfter}
	}
}

// slots is a semaphore whose size may change while it is in use. Those that are
// taken count on: under a smaller size nobody enters until enough have left.
type slots struct {
	size, taken atomic.Int64
}

// take takes a slot, or reports false.
func (s *slots) take() bool {
	for {
		n := s.taken.Load()
		if n >= s.size.Load() {
			return false
		}
		if s.taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// free gives a slot back.
func (s *slots) free() { s.taken.Add(-1) }
