package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errNet = errors.New("the network is gone")

// failing fails the renewals of which it says so, at once or after a wait.
func failing(which func(n int32) bool, frozen bool) func(context.Context, string) error {
	var n atomic.Int32
	return func(ctx context.Context, what string) error {
		if what != renewing || !which(n.Add(1)) {
			return nil
		}
		if frozen {
			<-ctx.Done()
			return ctx.Err()
		}
		return errNet
	}
}

// One renewal fails. The lock's time isn't over, so the lock stays, and the next try
// comes sooner than the next renewal would.
func TestOneFailedRenewalLosesTheLock(t *testing.T) {
	t.Parallel()
	first := func(n int32) bool { return n == 1 }
	for _, tt := range []struct {
		name   string
		frozen bool
		want   []time.Duration
	}{
		{"refused", false, []time.Duration{10 * time.Second, 13 * time.Second, 23 * time.Second}},
		{"frozen", true, []time.Duration{10 * time.Second, 15 * time.Second, 25 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &model{fail: failing(first, tt.frozen)}
				r := NewRedis(RedisOptions{Client: m, TTL: 30 * time.Second, Timeout: 2 * time.Second})
				_, held, unlock := mustLock(t, r, "1001")
				time.Sleep(32 * time.Second) // past the time of the first
				if held.Err() != nil {
					t.Errorf("lost: %v", context.Cause(held))
				}
				if d := cmp.Diff(tt.want, m.times(renewing)); d != "" {
					t.Errorf("renewals (-want +got):\n%s", d)
				}
				mustUnlock(t, unlock)
			})
		})
	}
}

// All renewals fail. The lock is lost when its time is over, not before, and not after:
// a call that hangs is no reason to hold on.
func TestLockHeldPastItsTime(t *testing.T) {
	t.Parallel()
	all := func(int32) bool { return true }
	for _, frozen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{fail: failing(all, frozen)}
			r := NewRedis(RedisOptions{Client: m, TTL: 30 * time.Second, Timeout: 9 * time.Second}) // the last try would end at 31s
			began := time.Now()
			h, held, unlock := mustLock(t, r, "1001")
			<-held.Done()
			if got := time.Since(began); got != 30*time.Second {
				t.Errorf("frozen %t: lost after %v, want 30s", frozen, got)
			}
			wantErrors(t, context.Cause(held), ErrLost, ErrExpired)
			<-h.over
			wantErrors(t, unlock(), ErrLost, ErrExpired)
		})
	}
}
