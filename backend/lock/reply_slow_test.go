package lock

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The lock counts from before the request was sent. When Redis began to count is not
// known, but not before that.
func TestSlowReplyMakesTheLockLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{fail: func(_ context.Context, what string) error {
			if what == taking {
				time.Sleep(4 * time.Second)
			}
			return nil
		}}
		r := NewRedis(RedisOptions{Client: m, Timeout: time.Minute})
		began := time.Now()
		held, unlock, err := r.LockFor(t.Context(), "1001", 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		<-held.Done()
		if got := time.Since(began); got != 10*time.Second {
			t.Errorf("a lease of 10s ended %v after it was asked for", got)
		}
		mustUnlock(t, unlock) // Redis began later, and still has it
	})
}

// A renewal counts from before it was sent, too.
func TestSlowRenewalMakesTheLockLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int32
		m := &model{fail: func(_ context.Context, what string) error {
			switch {
			case what != renewing:
			case renewals.Add(1) == 1:
				time.Sleep(5 * time.Second)
			default:
				return errNet
			}
			return nil
		}}
		r := NewRedis(RedisOptions{Client: m, TTL: 30 * time.Second, Timeout: time.Minute})
		began := time.Now()
		_, held, unlock := mustLock(t, r, "1001")
		<-held.Done()
		if got := time.Since(began); got != 40*time.Second {
			t.Errorf("renewed at 10s for 30s, the lock ended after %v", got)
		}
		mustUnlock(t, unlock)
	})
}

// A yes that came when the time was over is none.
func TestLockIsOverBeforeItIsHad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int32
		m := &model{fail: func(_ context.Context, what string) error {
			if what == taking && takes.Add(1) == 1 {
				time.Sleep(15 * time.Second)
			}
			return nil
		}}
		r := NewRedis(RedisOptions{Client: m, TTL: 10 * time.Second, Timeout: time.Minute})
		_, held, unlock := mustLock(t, r, "1001")
		if held.Err() != nil {
			t.Errorf("a lock was handed out that was over: %v", context.Cause(held))
		}
		if n := takes.Load(); n != 2 {
			t.Errorf("asked %d times, want 2", n)
		}
		mustUnlock(t, unlock)
	})
}
