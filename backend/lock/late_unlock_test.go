package lock

import (
	"context"
	"errors"
	"testing"
)

func TestUnlockTooLateIsTakenForSuccess(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := dial(t, s.Addr())
	a, b := overRedis(t, s), overRedis(t, s)

	_, _, unlock := mustLock(t, a, "1001")
	c.Del(t.Context(), key1001) // as if its time had run out
	wantErrors(t, unlock(), ErrLost, ErrExpired)

	_, _, unlock = mustLock(t, a, "1001")
	c.Del(t.Context(), key1001)
	h, _, unlockB := mustLock(t, b, "1001")
	before := c.PTTL(t.Context(), key1001).Val()
	wantErrors(t, unlock(), ErrLost, ErrNotOwner)
	if got := c.Get(t.Context(), key1001).Val(); got != h.claim.token {
		t.Errorf("the other's lock is held by %q, want its token %q", got, h.claim.token)
	}
	if after := c.PTTL(t.Context(), key1001).Val(); after <= 0 || after > before {
		t.Errorf("the other's lock lasted %v before and %v after", before, after)
	}
	mustUnlock(t, unlockB)
}

// The second unlock is an error, also while the same process holds the key again.
func TestUnlockTwiceTakesTheNextLock(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := overRedis(t, s)
	_, _, unlock := mustLock(t, r, "1001")
	mustUnlock(t, unlock)
	wantErrors(t, unlock(), ErrUnlocked)

	_, held, next := mustLock(t, r, "1001")
	err := unlock()
	wantErrors(t, err, ErrUnlocked)
	if errors.Is(err, ErrLost) {
		t.Errorf("a second unlock tells of a loss: %v", err)
	}
	if held.Err() != nil {
		t.Errorf("the next holder's context ended: %v", context.Cause(held))
	}
	mustUnlock(t, next)
	if n := len(r.lines.byKey); n != 0 {
		t.Errorf("%d lines are left", n)
	}
}

// What goes on under the context held ends with the lock.
func TestWorkGoesOnAfterUnlock(t *testing.T) {
	t.Parallel()
	_, held, unlock := mustLock(t, overRedis(t, start(t)), "1001")
	if held.Err() != nil {
		t.Errorf("it ended at once: %v", context.Cause(held))
	}
	mustUnlock(t, unlock)
	await(t, "the context held ends", held.Done())
	if cause := context.Cause(held); !errors.Is(cause, context.Canceled) || errors.Is(cause, ErrLost) {
		t.Errorf("its cause is %v", cause)
	}
}
