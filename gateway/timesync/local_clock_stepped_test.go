package timesync

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// stepped returns a time as time.Now gives it after the wall clock was set: the
// wall reading is d off and the monotonic one isn't. No function of the time
// package makes one, so it moves the seconds inside (time.Time: with a monotonic
// reading, wall holds 33 bits of seconds above 30 of nanoseconds).
func stepped(t *testing.T, at time.Time, d time.Duration) time.Time {
	t.Helper()
	moved := at
	wall := (*uint64)(unsafe.Pointer(&moved)) // the first field of time.Time
	*wall += uint64(int64(d/time.Second) << 30)
	if moved.Sub(at) != 0 || moved.Round(0).Sub(at.Round(0)) != d {
		t.Fatalf("this version of Go keeps time.Time otherwise: moved by %v, %v on the wall", moved.Sub(at), moved.Round(0).Sub(at.Round(0)))
	}
	return moved
}

// A node's own clock is set five minutes back or forward in the middle of a sale:
// what /time says and what opens the sale don't notice.
func TestLocalClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		const offset, trip = 2 * time.Second, time.Millisecond
		var elapsed, wall time.Duration
		base := time.Now()
		now := func() time.Time { return stepped(t, base.Add(elapsed), wall) }
		truth := func() time.Time { return base.Round(0).Add(elapsed + offset) }
		ask := func(context.Context) (time.Time, error) {
			elapsed += trip / 4
			remote := truth()
			elapsed += trip - trip/4
			return remote, nil
		}
		var log bytes.Buffer
		c := New(now)
		f := follower{FollowOptions: FollowOptions{
			Clock: c, Ask: ask, Now: now, Log: slog.New(slog.NewTextHandler(&log, nil)),
		}.withDefaults()}
		for i := range 200 {
			if i == 55 {
				wall = step
			}
			if i%50 == 0 {
				f.turn(t.Context())
			}
			if off := c.Now().Sub(truth()).Abs(); off > c.Error() || c.Error() > 4*time.Millisecond {
				t.Fatalf("off by %v after %v, and tells an error of %v", off, step, c.Error())
			}
			var answer struct{ Now int64 }
			if err := json.Unmarshal(c.Append(nil, now(), now()), &answer); err != nil {
				t.Fatal(err)
			}
			if off := time.Duration(answer.Now-truth().UnixMilli()) * time.Millisecond; off.Abs() > 5*time.Millisecond {
				t.Fatalf("/time is off by %v after %v", off, step)
			}
			elapsed += 100 * time.Millisecond
		}
		if log.Len() > 0 {
			t.Errorf("step %v was noticed:\n%s", step, &log)
		}
	}
}

// Where readings have no monotonic part, the step shows until the next
// measurement, and no longer.
func TestLocalClockWithoutMonotonicReadingIsSet(t *testing.T) {
	for _, step := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		var wall atomic.Int64
		now := func() time.Time { return time.Now().Round(0).Add(time.Duration(wall.Load())) }
		s := &source{offset: 2 * time.Second, trip: time.Millisecond}
		followed(t, s, now, func(t *testing.T, c *Clock, _ *bytes.Buffer) {
			wall.Store(int64(step))
			time.Sleep(6 * time.Second)
			within(t, c, s, 4*time.Millisecond)
		})
	}
}
