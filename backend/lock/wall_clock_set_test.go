package lock

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// wallClock is a clock whose wall reading was set while the monotonic one went on.
type wallClock struct{ set atomic.Int64 }

// now moves the wall reading alone, which no function of the library can: a Time
// begins with a word that holds a flag, 33 bits of seconds and 30 of nanoseconds.
func (w *wallClock) now() time.Time {
	t := time.Now()
	*(*uint64)(unsafe.Pointer(&t)) += uint64(w.set.Load()/int64(time.Second)) << 30
	return t
}

func TestWallClockEndsOrExtendsALock(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, jump := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		clock := new(wallClock)
		opt := slow(dial(t, s.Addr()))
		opt.Now = clock.now
		r := NewRedis(opt)
		_, held, unlock := mustLock(t, r, "1001")
		short, end, err := r.LockFor(t.Context(), "1002", 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}

		clock.set.Store(int64(jump))
		if moved := time.Until(clock.now().Round(0)); (moved - jump).Abs() > time.Hour {
			t.Fatalf("the wall clock moved by %v, want %v", moved, jump)
		}
		if held.Err() != nil {
			t.Errorf("%v: given up early: %v", jump, context.Cause(held))
		}
		await(t, "a lease of 50ms ends", short.Done())
		wantErrors(t, context.Cause(short), ErrLost, ErrExpired)
		_ = end() // it may still have been there
		mustUnlock(t, unlock)
	}
}
