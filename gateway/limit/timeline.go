package limit

import "time"

// maxLate is how far a reading of the clock may lie behind one already seen and
// still be taken for a late one: a goroutine may be held up between reading the
// clock and reaching its bucket, but hardly for so long.
const maxLate = time.Second

// timeline turns the readings of a clock into times that never run backwards.
// x/time/rate moves its mark to whatever time it is given, so an earlier time
// would let the same stretch flow in twice.
//
// Two things look alike and are told apart. A late reading is taken as the
// latest one seen. A clock that was set back would then stand still until it has
// caught up, an hour perhaps, so from there on the timeline runs ahead of the
// clock by the step: nothing flows in for the step, and all flows on after it.
// Only readings without Go's monotonic part can be set back.
//
// The zero value is ready. It is not safe for concurrent use.
type timeline struct {
	last time.Time     // the latest time given out
	skew time.Duration // how far the timeline is ahead of the clock
}

// at returns the time on the line for a reading of the clock.
func (l *timeline) at(now time.Time) time.Time {
	t := now.Add(l.skew)
	late := l.last.Sub(t)
	if late <= 0 {
		l.last = t
		return t
	}
	if late > maxLate && !monotonic(now) {
		l.skew += late
	}
	return l.last
}

// monotonic says whether a time carries a monotonic reading. Round(0) strips it,
// so only then do the two differ.
func monotonic(t time.Time) bool { return t != t.Round(0) } //nolint:revive // Equal would not look at the monotonic part
