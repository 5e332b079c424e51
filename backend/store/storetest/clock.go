package storetest

import (
	"sync/atomic"
	"time"
)

// Clock is a clock that a test moves, in either direction. It starts at the real
// time, in whole milliseconds. Safe for concurrent use.
type Clock struct{ ms atomic.Int64 }

// NewClock returns a clock that stands still until it is moved.
func NewClock() *Clock {
	c := new(Clock)
	c.ms.Store(time.Now().UnixMilli())
	return c
}

// Now is the clock's time.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Add moves the clock; backwards where d is negative.
func (c *Clock) Add(d time.Duration) { c.ms.Add(d.Milliseconds()) }
