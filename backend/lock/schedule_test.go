package lock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScheduleDue(t *testing.T) {
	t.Parallel()
	zero := time.Time{}
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, tt := range []struct {
		name                       string
		renewAt, capAt, validUntil time.Time
		now                        int
		step                       step
		wait                       time.Duration
	}{
		{"nothing yet", at(10), at(100), at(30), 4, rest, 6 * time.Second},
		{"renew", at(10), at(100), at(30), 10, renew, 0},
		{"renew late", at(10), at(100), at(30), 29, renew, 0},
		{"the cap is next", at(10), at(8), at(30), 4, rest, 4 * time.Second},
		{"the cap comes before a renewal", at(10), at(10), at(30), 10, stop, 0},
		{"over", at(10), at(100), at(30), 30, expire, 0},
		{"over comes first", at(10), at(20), at(30), 40, expire, 0},
		{"a lease", zero, zero, at(30), 4, rest, 26 * time.Second},
		{"a lease, over", zero, zero, at(30), 31, expire, 0},
		{"a retry after the end", at(33), at(100), at(30), 28, rest, 2 * time.Second},
	} {
		s := schedule{tt.renewAt, tt.capAt, tt.validUntil}
		if step, wait := s.due(at(tt.now)); step != tt.step || wait != tt.wait {
			t.Errorf("%s: step %d after %v, want %d after %v", tt.name, step, wait, tt.step, tt.wait)
		}
	}
}

// A waiter sleeps neither past the end of the holder's time nor much longer or shorter
// than a poll.
func TestPauseIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		left := time.Duration(rapid.Int64Range(-1, int64(time.Hour)).Filter(func(n int64) bool { return n != 0 }).Draw(t, "left"))
		poll := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "poll"))
		chance := rapid.Float64Range(0, 0.999999).Draw(t, "chance")
		got := pause(left, poll, chance)
		low, high := poll/2, poll/2+poll
		if left > 0 {
			low, high = min(low, left), min(high, left)
		}
		if got < low || got > high {
			t.Errorf("pause(%v, %v, %v) = %v, want %v to %v", left, poll, chance, got, low, high)
		}
	})
}
