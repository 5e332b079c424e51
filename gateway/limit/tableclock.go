package limit

import (
	"sync/atomic"
	"time"
)

// clockGrain is how far tableClock may be behind. It spares busy cores from
// writing one shared word for every request.
const clockGrain = time.Millisecond

// tableClock is the time by which a table forgets: the latest that any caller
// passed in. A clock that is set back leaves it standing, so entries are kept
// longer, which costs nothing, as their number is bounded.
type tableClock struct {
	start   time.Time
	elapsed atomic.Int64 // ns since start
}

func (c *tableClock) advance(now time.Time) {
	n := int64(now.Sub(c.start))
	for {
		seen := c.elapsed.Load()
		if n < seen+int64(clockGrain) || c.elapsed.CompareAndSwap(seen, n) {
			return
		}
	}
}

// NowNano is the part of otter.Clock that says what time it is.
func (c *tableClock) NowNano() int64 { return c.elapsed.Load() }

// Tick is the part of otter.Clock that drives a clean-up in the background. There
// is none: entries are dropped while others are added, and their number is
// bounded. So a table needs no goroutine and no Close.
func (c *tableClock) Tick(time.Duration) <-chan time.Time { return nil }
