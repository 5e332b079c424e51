package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Ten thousand callers of a process wait for a key that another process holds. One of
// them contends, over one subscription, and each of the others asks once, when it is
// its turn.
func TestReleaseWakesAll(t *testing.T) {
	t.Parallel()
	const waiters, served = 10_000, 1_000 // the rest leaves, to save time
	s := start(t)
	direct := dial(t, s.Addr())
	_, _, unlock := mustLock(t, overRedis(t, s), "1001")

	var tries, subscriptions, had atomic.Int64
	refused := make(chan struct{}, 2)
	c := &tapped{Client: dial(t, s.Addr()), subscribe: func() { subscriptions.Add(1) }}
	c.call = func(what string, send func() *redis.Cmd) *redis.Cmd {
		answer := send()
		if what == taking && tries.Add(1) <= 2 {
			refused <- struct{}{}
		}
		return answer
	}
	r := NewRedis(slow(c))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			_, unlock, err := r.Lock(ctx, "1001")
			if err != nil {
				wantErrors(t, err, context.Canceled)
				return
			}
			if had.Add(1) == served {
				leave()
			}
			mustUnlock(t, unlock)
		})
	}
	await(t, "the first is refused", refused)
	await(t, "and again, now that it listens", refused)
	if n := direct.PubSubNumSub(t.Context(), key1001).Val()[key1001]; n != 1 {
		t.Errorf("%d subscriptions for %d waiters", n, waiters)
	}
	mustUnlock(t, unlock)
	wg.Wait()

	if n := had.Load(); n < served {
		t.Errorf("%d had the lock, want %d or more", n, served)
	}
	if n := tries.Load(); n > had.Load()+3 { // two refused, and one of a caller that left
		t.Errorf("%d tries for %d locks", n, had.Load())
	}
	if n := subscriptions.Load(); n != 1 {
		t.Errorf("subscribed %d times", n)
	}
	nothingLeft(t, r)
}

// Many keys are waited for at once. The connections to listen over have a bound, and
// the keys beyond it are polled.
func TestEachKeyTakesAConnection(t *testing.T) {
	t.Parallel()
	s := start(t)
	direct := dial(t, s.Addr())
	tries := make(chan struct{}, 100)
	opt := slow(countingTries(t, s, tries))
	opt.Subscriptions = 1
	opt.Poll = patience / 30
	r, other := NewRedis(opt), overRedis(t, s)

	_, _, unlock1 := mustLock(t, other, "1001")
	_, _, unlock2 := mustLock(t, other, "1002")
	one, two := lockLater(t, r, "1001"), lockLater(t, r, "1002")
	for range 3 { // two refused, and one again once it listens
		await(t, "refused", tries)
	}
	if channels := direct.PubSubChannels(t.Context(), "rg:*").Val(); len(channels) != 1 {
		t.Errorf("it listens to %v, want one", channels)
	}
	mustUnlock(t, unlock1)
	mustUnlock(t, unlock2)
	await(t, "the first key", one)
	await(t, "the second key", two)
	nothingLeft(t, r)
}

// Waiters that give up leave neither their place nor their subscription behind.
func TestWaiterGoneIsServed(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, _, unlock := mustLock(t, overRedis(t, s), "1001")
	tries := make(chan struct{}, 10)
	r := NewRedis(slow(countingTries(t, s, tries)))
	gone := errors.New("the buyer has left")
	ctx, leave := context.WithCancelCause(t.Context())
	ended := make(chan error)
	for range 3 {
		go func() {
			_, _, err := r.Lock(ctx, "1001")
			ended <- err
		}()
	}
	await(t, "refused", tries)
	await(t, "refused again, now that it listens", tries)
	leave(gone)
	for range 3 {
		wantErrors(t, await(t, "a waiter leaves", ended), gone)
	}
	nothingLeft(t, r)
	mustUnlock(t, unlock)
	_, _, unlock = mustLock(t, r, "1001")
	mustUnlock(t, unlock)
}

// nothingLeft fails the test if somebody is in line, or if listeners don't end.
func nothingLeft(t *testing.T, r *Redis) {
	t.Helper()
	r.lines.mu.Lock()
	defer r.lines.mu.Unlock()
	if n := len(r.lines.byKey); n != 0 {
		t.Errorf("%d lines are left", n)
	}
	free := make(chan struct{})
	go func() {
		defer close(free)
		for range cap(r.lines.listeners) {
			r.lines.listeners <- struct{}{}
		}
		for range cap(r.lines.listeners) {
			<-r.lines.listeners
		}
	}()
	await(t, "listeners end", free)
}
