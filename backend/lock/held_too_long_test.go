package lock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A holder that never ends keeps others out for MaxHold and one TTL more at most.
func TestHeldForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(model)
		opt := RedisOptions{Client: m, TTL: 9 * time.Second, MaxHold: 20 * time.Second, Poll: time.Second}
		a, b := NewRedis(opt), NewRedis(opt)
		_, held, unlock := mustLock(t, a, "1001")
		began := time.Now()

		<-held.Done()
		wantErrors(t, context.Cause(held), ErrLost, ErrMaxHold)
		if got := time.Since(began); got != opt.MaxHold {
			t.Errorf("it ended after %v, want %v", got, opt.MaxHold)
		}
		want := []time.Duration{3 * time.Second, 6 * time.Second, 9 * time.Second, 12 * time.Second, 15 * time.Second, 18 * time.Second}
		if d := cmp.Diff(want, m.times(renewing)); d != "" {
			t.Errorf("renewals (-want +got):\n%s", d)
		}

		_, _, unlockB := mustLock(t, b, "1001") // waits until the last renewal's time is over
		if got := time.Since(began); got < 27*time.Second || got > 28*time.Second {
			t.Errorf("the next has the lock after %v, want 27s", got)
		}
		wantErrors(t, unlock(), ErrLost, ErrNotOwner)
		mustUnlock(t, unlockB)
	})
}

// Unlock after MaxHold and within the lock's time is in time: nobody else had it.
func TestUnlockAfterMaxHold(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]error{5 * time.Second: nil, 9 * time.Second: ErrExpired} {
		synctest.Test(t, func(t *testing.T) {
			r := NewRedis(RedisOptions{Client: new(model), TTL: 9 * time.Second, MaxHold: time.Second})
			_, held, unlock := mustLock(t, r, "1001")
			<-held.Done()
			time.Sleep(after)
			err := unlock()
			if want == nil && err != nil {
				t.Errorf("%v later: %v", after, err)
			}
			if want != nil {
				wantErrors(t, err, ErrLost, want)
			}
		})
	}
}

// An explicit lease is one: no watchdog makes it longer.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(model)
		r := NewRedis(RedisOptions{Client: m, TTL: time.Second})
		began := time.Now()
		held, unlock, err := r.LockFor(t.Context(), "1001", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		<-held.Done()
		if got := time.Since(began); got != time.Minute {
			t.Errorf("the lease ended after %v", got)
		}
		wantErrors(t, context.Cause(held), ErrLost, ErrExpired)
		if at := m.times(renewing); at != nil {
			t.Errorf("renewed at %v", at)
		}
		wantErrors(t, unlock(), ErrLost, ErrExpired)
	})
}

func TestLeaseOfNothing(t *testing.T) {
	t.Parallel()
	r := NewRedis(RedisOptions{Client: new(model)})
	for _, lease := range []time.Duration{-time.Second, 0, time.Microsecond} {
		if _, _, err := r.LockFor(t.Context(), "1001", lease); err == nil {
			t.Errorf("a lease of %v was given", lease)
		}
	}
}
