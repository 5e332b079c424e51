package lock

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// leap is a clock of a process that was stopped: when it goes on, the clock is ahead,
// and no timer has fired yet.
type leap struct{ ahead atomic.Int64 }

func (l *leap) now() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) }

// A process is stopped for twice the lock's time, and another takes the lock. The
// first thing that it looks at, whichever it is, tells it.
func TestPausedProcessTrustsItsLock(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(held context.Context) bool{
		"Err":   func(held context.Context) bool { return held.Err() != nil },
		"Cause": func(held context.Context) bool { return context.Cause(held) != nil },
		"Done": func(held context.Context) bool {
			select {
			case <-held.Done():
				return true
			default:
				return false
			}
		},
		"a context derived afterwards": func(held context.Context) bool {
			ctx, cancel := context.WithCancel(held)
			defer cancel()
			return ctx.Err() != nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { pauseAndLook(t, look) })
		})
	}
}

func pauseAndLook(t *testing.T, look func(held context.Context) bool) {
	t.Helper()
	m, clock := new(model), new(leap)
	opt := slow(m)
	opt.Now = clock.now
	a, b := NewRedis(opt), NewRedis(slow(m))
	h, held, unlock := mustLock(t, a, "1001")
	if look(held) {
		t.Error("lost before the pause")
	}
	synctest.Wait() // the watchdog waits for a timer that is far away

	clock.ahead.Store(int64(2 * opt.TTL))
	m.empty() // its time ran out
	_, heldB, unlockB := mustLock(t, b, "1001")

	if !look(held) {
		t.Error("the first look doesn't tell")
	}
	wantErrors(t, context.Cause(held), ErrLost, ErrExpired)
	<-h.over
	wantErrors(t, unlock(), ErrLost, ErrNotOwner)
	if heldB.Err() != nil {
		t.Errorf("the next holder's context ended: %v", context.Cause(heldB))
	}
	mustUnlock(t, unlockB)
}

// The clock of Redis jumps, and the lock is over there while its holder counts on it.
func TestRedisClockJumpsUnseen(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := dial(t, s.Addr())
	a, b := overRedis(t, s), overRedis(t, s)
	h, held, unlock := mustLock(t, a, "1001")
	c.PExpireAt(t.Context(), key1001, time.Now().Add(-time.Hour))
	_, _, unlockB := mustLock(t, b, "1001")

	h.renew()
	wantErrors(t, context.Cause(held), ErrLost, ErrNotOwner)
	wantErrors(t, unlock(), ErrLost, ErrNotOwner)
	mustUnlock(t, unlockB)
}
