package server

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is SQL's clock, as this process knows it. It judges whether a ticket has
// expired before the database is asked, which then judges by the same clock: by
// that of a node minutes away, every ticket would have expired, or none.
type clock struct {
	sql    func(context.Context) (int64, error) // Unix milliseconds
	local  func() time.Time
	offset atomic.Int64 // nanoseconds, SQL's less the local one
}

// look asks SQL for the time. It was read somewhere between question and answer,
// so the offset is wrong by half of what that took, at most, and a millisecond.
func (c *clock) look(ctx context.Context) error {
	sent := c.local()
	ms, err := c.sql(ctx)
	if err != nil {
		return err
	}
	middle := sent.Add(c.local().Sub(sent) / 2)
	c.offset.Store(int64(time.UnixMilli(ms).Sub(middle)))
	return nil
}

func (c *clock) now() time.Time { return c.local().Add(time.Duration(c.offset.Load())) }

// run looks again every interval, until ctx ends. Where SQL does not answer, the
// last offset holds.
func (c *clock) run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = c.look(ctx)
		}
	}
}

// Now is the time by SQL's clock.
func (b *Backend) Now() time.Time { return b.clock.now() }
