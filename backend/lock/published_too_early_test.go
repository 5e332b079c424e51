package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// The lock is given back after a waiter was refused and before it listens, so it never
// hears of that. Its holder had an hour left, and the next poll is as far away.
func TestReleaseBeforeSubscribedIsMissed(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, _, unlock := mustLock(t, overRedis(t, s), "1001")
	c := &tapped{Client: dial(t, s.Addr()), subscribe: func() { mustUnlock(t, unlock) }}
	_, _, unlockB := mustLock(t, NewRedis(slow(c)), "1001")
	mustUnlock(t, unlockB)
}

func TestReleaseWakesNobody(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, _, unlock := mustLock(t, overRedis(t, s), "1001")
	tries := make(chan struct{}, 10)
	had := lockLater(t, NewRedis(slow(countingTries(t, s, tries))), "1001")
	await(t, "refused", tries)
	await(t, "refused again, now that it listens", tries)
	mustUnlock(t, unlock)
	await(t, "the waiter has the lock", had)
}

// Nobody tells the waiter. The poll finds out.
func TestReleaseUnheardIsMissed(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, _, unlock := mustLock(t, overRedis(t, s), "1001")
	tries := make(chan struct{}, 1_000)
	opt := slow(deaf{countingTries(t, s, tries)})
	opt.Poll = time.Millisecond
	had := lockLater(t, NewRedis(opt), "1001")
	for range 5 {
		await(t, "a poll", tries)
	}
	mustUnlock(t, unlock)
	await(t, "the waiter has the lock", had)
}

// The holder is gone, and a key that runs out tells nobody. Waiters know when that is.
func TestEndOfHoldersTimeIsMissed(t *testing.T) {
	t.Parallel()
	s := start(t)
	dial(t, s.Addr()).Set(t.Context(), key1001, "gone", 100*time.Millisecond)
	_, _, unlock := mustLock(t, overRedis(t, s), "1001")
	mustUnlock(t, unlock)
}

// deaf listens where nobody speaks.
type deaf struct{ Client }

func (c deaf) Subscribe(ctx context.Context, _ ...string) *redis.PubSub {
	return c.Client.Subscribe(ctx, "elsewhere")
}

// countingTries is a client that tells of each try.
func countingTries(t *testing.T, s *luatest.Server, tries chan<- struct{}) *tapped {
	t.Helper()
	return &tapped{Client: dial(t, s.Addr()), call: func(what string, send func() *redis.Cmd) *redis.Cmd {
		answer := send()
		if what == taking {
			tries <- struct{}{}
		}
		return answer
	}}
}

// lockLater waits for the lock beside the test, gives it back, and says so.
func lockLater(t *testing.T, l Locker, key string) <-chan struct{} {
	t.Helper()
	had := make(chan struct{})
	go func() {
		defer close(had)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, unlock, err := l.Lock(ctx, key)
		if err != nil {
			t.Error(err)
			return
		}
		mustUnlock(t, unlock)
	}()
	return had
}
