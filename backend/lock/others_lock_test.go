package lock

import (
	"context"
	"testing"
	"time"
)

const key1001 = "rg:{1001}:lock"

// What one token does to another's lock, or to none.
func TestScriptTouchesOthersLock(t *testing.T) {
	t.Parallel()
	c := dial(t, start(t).Addr())
	ctx := t.Context()
	mine := claim{key: key1001, token: "mine", ttl: 2 * time.Hour}
	for name, tt := range map[string]struct {
		call       func() (outcome, error)
		free, held outcome // where nobody holds the lock, and where another does
	}{
		"renew":   {func() (outcome, error) { return mine.renew(ctx, c) }, nobody, others},
		"release": {func() (outcome, error) { return mine.release(ctx, c) }, nobody, others},
	} {
		c.Del(ctx, key1001)
		if got, err := tt.call(); got != tt.free || err != nil {
			t.Errorf("%s of a free lock: %v, %v, want %v", name, got, err, tt.free)
		}
		if c.Exists(ctx, key1001).Val() != 0 {
			t.Errorf("%s made the key", name)
		}
		c.Set(ctx, key1001, "yours", time.Hour)
		if got, err := tt.call(); got != tt.held || err != nil {
			t.Errorf("%s of another's lock: %v, %v, want %v", name, got, err, tt.held)
		}
		if got := c.Get(ctx, key1001).Val(); got != "yours" {
			t.Errorf("after %s the lock is held by %q", name, got)
		}
		if left := c.PTTL(ctx, key1001).Val(); left <= 0 || left > time.Hour {
			t.Errorf("after %s the lock lasts %v", name, left)
		}
	}
}

func TestTakeTellsHowLongTheHolderHas(t *testing.T) {
	t.Parallel()
	c := dial(t, start(t).Addr())
	ctx := t.Context()
	mine := claim{key: key1001, token: "mine", ttl: 2 * time.Hour}
	for name, tt := range map[string]struct {
		holder string
		ttl    time.Duration // 0: no end
		taken  bool
		min    time.Duration // what the answer is between
		max    time.Duration
	}{
		"free":         {"", 0, true, 0, 0},
		"own":          {"mine", time.Hour, true, 0, 0},
		"others":       {"yours", time.Hour, false, 1, time.Hour},
		"others, ever": {"yours", 0, false, -time.Hour, -1},
	} {
		c.Del(ctx, key1001)
		if tt.holder != "" {
			c.Set(ctx, key1001, tt.holder, tt.ttl)
		}
		left, err := mine.take(ctx, c)
		if err != nil || left < tt.min || left > tt.max {
			t.Errorf("%s: %v, %v", name, left, err)
		}
		if got := c.Get(ctx, key1001).Val(); (got == "mine") != tt.taken {
			t.Errorf("%s: held by %q", name, got)
		}
		if left := c.PTTL(ctx, key1001).Val(); tt.taken && left <= time.Hour {
			t.Errorf("%s: the time to live was not set anew: %v", name, left)
		}
	}
}

// A renewal that finds another's lock ends the holder's context and the watchdog, and
// leaves the lock alone.
func TestRenewalTakesOthersLock(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := dial(t, s.Addr())
	h, held, unlock := mustLock(t, overRedis(t, s), "1001")
	c.Set(t.Context(), key1001, "yours", time.Minute)

	h.renew()
	await(t, "the context held ends", held.Done())
	await(t, "the watchdog ends", h.over)
	wantErrors(t, context.Cause(held), ErrLost, ErrNotOwner)
	if left := c.PTTL(t.Context(), key1001).Val(); left > time.Minute {
		t.Errorf("another's lock was made to last %v", left)
	}
	wantErrors(t, unlock(), ErrLost, ErrNotOwner)
	if got := c.Get(t.Context(), key1001).Val(); got != "yours" {
		t.Errorf("the lock is held by %q", got)
	}
}

// A caller that has lost its lock and goes on for long keeps nobody of its process out.
func TestLostLockKeepsItsProcessOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := overRedis(t, s)
	h, _, unlock := mustLock(t, r, "1001")
	dial(t, s.Addr()).Del(t.Context(), key1001)
	h.renew()
	_, held, next := mustLock(t, r, "1001")
	wantErrors(t, unlock(), ErrLost, ErrNotOwner)
	if held.Err() != nil {
		t.Errorf("the next holder's context ended: %v", context.Cause(held))
	}
	mustUnlock(t, next)
	nothingLeft(t, r)
}
