// Package timesync keeps the sale's clock: the one clock by which sales open and
// end, on every node and in what /time tells the browser. A page that counts
// down by another clock than the one that opens the sale says "started" while
// purchases are still refused.
//
// The sale's clock is the local one, or that of another machine, measured from
// here.
package timesync

import (
	"strconv"
	"sync/atomic"
	"time"
)

// Source says whose clock the sale goes by.
type Source string

// The sources that buyers are told.
const (
	Local Source = "local" // this node's
	Redis Source = "redis" // that of the admission filter
)

// drift is how fast two clocks may run apart, per unit of time: 500 ppm, the
// largest error of frequency that the NTP discipline of kernels corrects (MAXFREQ
// in Linux' timex.h). Ordinary clocks stay far within it, and an error that is
// told too large only costs a question to the source itself.
const drift = 500e-6

// Clock is the sale's clock as this node knows it. All methods are safe for
// concurrent use.
//
// After it was set, it runs by the monotonic readings of the local clock, so a
// step of the local wall clock doesn't move it. Setting it may move it a little
// back.
type Clock struct {
	now  func() time.Time
	last atomic.Pointer[setting]
}

// setting is what was measured last. It is replaced as a whole, so that nobody
// sees the offset of one measurement with the error of another.
type setting struct {
	source Source
	local  time.Time     // a moment by the local clock, with its monotonic reading
	sale   time.Time     // the same moment by the sale's clock, without one
	bound  time.Duration // of the error at that moment
}

// New returns a clock that goes by the local one; now is [time.Now] outside of
// tests.
func New(now func() time.Time) *Clock {
	c := &Clock{now: now}
	c.Reset()
	return c
}

// Reset makes the clock go by the local one again.
func (c *Clock) Reset() { c.last.Store(&setting{source: Local}) }

// Set makes the clock go by another machine's, as measured.
func (c *Clock) Set(source Source, e Estimate) {
	c.last.Store(&setting{
		source: source,
		local:  e.At,
		sale:   e.At.Round(0).Add(e.Offset),
		bound:  e.Bound,
	})
}

// Now returns the time of the sale.
func (c *Clock) Now() time.Time { return c.At(c.now()) }

// Millis returns the time of the sale in Unix milliseconds.
func (c *Clock) Millis() int64 { return c.Now().UnixMilli() }

// At returns the time of the sale for a reading of the local clock. Pass it
// whole, as [time.Now] returned it.
func (c *Clock) At(local time.Time) time.Time { return c.last.Load().at(local) }

// Error bounds how far Now may be from the clock of the source, in either
// direction. It grows until the clock is set again, and is 0 for the local one.
func (c *Clock) Error() time.Duration {
	s := c.last.Load()
	if s.source == Local {
		return 0
	}
	return s.errorAt(c.now())
}

// estimate is what the clock says of its source at a moment by the local clock.
func (c *Clock) estimate(local time.Time) Estimate {
	s := c.last.Load()
	return Estimate{At: local, Offset: s.at(local).Sub(local.Round(0)), Bound: s.errorAt(local)}
}

// Source says whose clock it is.
func (c *Clock) Source() Source { return c.last.Load().source }

// Append appends the answer of /time: {"now":ms,"t1":µs,"t2":µs,"source":"local"}.
// received and sent are readings of the local clock, taken when the request
// arrived and as late as possible before the answer leaves. t1 and t2 are the
// same moments by the sale's clock in Unix microseconds, and now is t2 in
// milliseconds, for clients that do without the round trip. From four such
// times, two of them its own, a client finds its offset (RFC 5905, section 8).
//
// t1 is never after t2, even where the wall clock was set back in between.
func (c *Clock) Append(dst []byte, received, sent time.Time) []byte {
	s := c.last.Load()
	t2 := s.at(sent).UnixMicro()
	t1 := t2 - max(sent.Sub(received), 0).Microseconds()
	dst = strconv.AppendInt(append(dst, `{"now":`...), t2/1000, 10)
	dst = strconv.AppendInt(append(dst, `,"t1":`...), t1, 10)
	dst = strconv.AppendInt(append(dst, `,"t2":`...), t2, 10)
	dst = append(append(dst, `,"source":"`...), s.source...)
	return append(dst, `"}`...)
}

func (s *setting) at(local time.Time) time.Time {
	if s.source == Local {
		return local
	}
	return s.sale.Add(local.Sub(s.local))
}

func (s *setting) errorAt(local time.Time) time.Duration {
	age := local.Sub(s.local).Abs()
	return s.bound + time.Duration(float64(age)*drift)
}
