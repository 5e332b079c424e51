package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// A Redis that refuses connections is known to be down at once, and so it is to the
// next caller, who doesn't ask.
func TestRefusedConnectionCostsTheWholeWait(t *testing.T) {
	t.Parallel()
	s := start(t)
	var tries atomic.Int64
	c := &tapped{Client: dial(t, s.Addr()), call: func(_ string, send func() *redis.Cmd) *redis.Cmd {
		tries.Add(1)
		return send()
	}}
	r := NewRedis(slow(c))
	s.Kill()
	for range 2 {
		_, _, err := r.Lock(t.Context(), "1001") // which would wait for ever
		wantErrors(t, err, ErrUnavailable)
	}
	if n := tries.Load(); n != 1 {
		t.Errorf("asked %d times, want 1", n)
	}
}

// An answer that is no answer of the script is one of a Redis that can't be used now.
func TestErrorReplyIsTakenForALockHeld(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := NewRedis(slow(dial(t, luatest.StartReplica(t, s).Addr())))
	_, _, err := r.Lock(t.Context(), "1001")
	wantErrors(t, err, ErrUnavailable)
	if !redis.HasErrorPrefix(errors.Unwrap(err), "READONLY") && !redis.IsReadOnlyError(err) {
		t.Errorf("the error doesn't tell what Redis said: %v", err)
	}
}

// A Redis that is frozen costs one wait a second, not one for each placement: those in
// line behind the first, and those who come later, are told at once.
func TestFrozenRedisCostsEveryPlacementItsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var frozen atomic.Bool
		m := &model{fail: func(ctx context.Context, _ string) error {
			if !frozen.Load() {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		opt := RedisOptions{Client: m, Timeout: 200 * time.Millisecond}
		r := NewRedis(opt)
		frozen.Store(true)
		began := time.Now()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				_, _, err := r.Lock(t.Context(), "1001")
				wantErrors(t, err, ErrUnavailable)
			})
		}
		wg.Wait()
		_, _, err := r.Lock(t.Context(), "1002")
		wantErrors(t, err, ErrUnavailable)
		if took := time.Since(began); took != opt.Timeout {
			t.Errorf("all were told after %v, want %v", took, opt.Timeout)
		}
		if n := len(m.times(taking)); n != 1 {
			t.Errorf("asked %d times, want 1", n)
		}

		frozen.Store(false)
		time.Sleep(openFor + time.Millisecond)
		_, _, unlock := mustLock(t, r, "1001")
		mustUnlock(t, unlock)
		synctest.Wait()
		nothingLeft(t, r)
	})
}

// While Redis is known to be down, nobody joins the line behind a lock that is held:
// its turn would end the same way, only later.
func TestHeldLockHidesThatRedisIsDown(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := overRedis(t, s)
	_, _, unlock := mustLock(t, r, "1001")
	s.Kill()
	for _, key := range []string{"1002", "1001"} {
		_, _, err := r.Lock(t.Context(), key)
		wantErrors(t, err, ErrUnavailable)
	}
	wantErrors(t, unlock(), ErrUnavailable)
}

// The caller's time is over while Redis owes an answer. The caller goes, and the lock
// that Redis gives afterwards goes back.
func TestLockGivenToNobodyStays(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"deadline", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			asked := make(chan struct{}, 1)
			c := &tapped{Client: dial(t, s.Addr())}
			r := NewRedis(slow(c))
			c.call = func(_ string, send func() *redis.Cmd) *redis.Cmd {
				select {
				case asked <- struct{}{}:
				default:
				}
				return send()
			}

			s.Pause()
			ctx, cancel := context.WithCancel(t.Context())
			if how == "deadline" {
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			}
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, _, err := r.Lock(ctx, "1001")
				ended <- err
			}()
			await(t, "Redis is asked", asked)
			if how == "cancelled" {
				cancel()
			}
			err := await(t, "the caller goes", ended)
			wantErrors(t, err, context.Cause(ctx))
			if errors.Is(err, ErrUnavailable) {
				t.Errorf("a caller that had no time left is told of Redis: %v", err)
			}
			s.Continue()
			_, _, unlock := mustLock(t, overRedis(t, s), "1001")
			mustUnlock(t, unlock)
		})
	}
}

// Redis is gone while a lock is held: its holder is told that it isn't known whether
// the lock was given back.
func TestUnlockWithoutRedisIsTakenForSuccess(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, held, unlock := mustLock(t, overRedis(t, s), "1001")
	s.Kill()
	if held.Err() != nil {
		t.Errorf("lost while its time lasts: %v", context.Cause(held))
	}
	err := unlock()
	wantErrors(t, err, ErrUnavailable)
	if errors.Is(err, ErrLost) {
		t.Errorf("unknown is told as lost: %v", err)
	}
}

func TestNoTimeAtAll(t *testing.T) {
	t.Parallel()
	m := new(model)
	r := NewRedis(RedisOptions{Client: m})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // the turn is free, and may come first
		_, _, err := r.Lock(ctx, "1001")
		wantErrors(t, err, context.Canceled)
	}
	if at := m.times(taking); at != nil {
		t.Error("Redis was asked for a caller that is gone")
	}
	nothingLeft(t, r)
}
