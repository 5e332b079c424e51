package lock

import (
	"context"
	"testing"
)

// Redis comes back without the lock. The holder is told, nothing makes the lock again
// for it, and the next one is a lock like any other.
func TestRenewalMakesLostLockAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	opt := slow(dial(t, s.Addr()))
	opt.Metrics = NewMetrics(nil)
	r := NewRedis(opt)
	h, held, unlock := mustLock(t, r, "1001")

	s.Restart()
	renewed(t, h) // over a new connection
	wantErrors(t, context.Cause(held), ErrLost, ErrExpired)
	await(t, "the watchdog ends", h.over)
	c := dial(t, s.Addr())
	if c.Exists(t.Context(), key1001).Val() != 0 {
		t.Error("the lock was made again")
	}
	wantErrors(t, unlock(), ErrLost, ErrExpired)

	h, held, unlock = mustLock(t, r, "1001")
	c.PExpire(t.Context(), key1001, opt.TTL/2)
	renewed(t, h)
	if held.Err() != nil {
		t.Errorf("the next lock was lost: %v", context.Cause(held))
	}
	if left := c.PTTL(t.Context(), key1001).Val(); left <= opt.TTL/2 {
		t.Errorf("the next lock was not renewed: %v are left", left)
	}
	mustUnlock(t, unlock)
}

// renewed renews until Redis has answered.
func renewed(t *testing.T, h *hold) {
	t.Helper()
	m := h.redis.opt.Metrics
	for range 3 { // connections from before a restart
		before := count(t, m.renewals[resultUnknown])
		h.renew()
		if count(t, m.renewals[resultUnknown]) == before {
			return
		}
	}
	t.Fatal("Redis gives no answer to renewals")
}
