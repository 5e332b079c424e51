package lock

import (
	"context"
	"io"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// losing is a client behind a wire that loses the reply to the next calls of a script.
func losing(t *testing.T, s *luatest.Server, what string, replies int) (c *tapped, lose *atomic.Bool) {
	t.Helper()
	wire := luatest.NewWire(t, s)
	lose = new(atomic.Bool)
	lost := 0
	client := dial(t, wire.Addr())
	if err := client.Ping(t.Context()).Err(); err != nil { // connected: what is lost is no greeting
		t.Fatal(err)
	}
	c = &tapped{Client: client}
	c.call = func(called string, send func() *redis.Cmd) *redis.Cmd {
		if !lose.Load() || called != what || lost == replies {
			return send()
		}
		lost++
		wire.LoseReplies(true)
		defer wire.LoseReplies(false)
		return send()
	}
	return c, lose
}

// Redis gave the lock and nobody was told. The same token, sent again, is its holder.
func TestOwnLockIsAnothersWhenTheReplyIsLost(t *testing.T) {
	t.Parallel()
	s := start(t)
	direct := dial(t, s.Addr())
	c, lose := losing(t, s, taking, 1)
	r := NewRedis(slow(c))

	lose.Store(true)
	h, held, unlock := mustLock(t, r, "1001")
	if got := direct.Get(t.Context(), "rg:{1001}:lock").Val(); got != h.claim.token {
		t.Errorf("the key holds %q, want the token %q", got, h.claim.token)
	}
	if err := held.Err(); err != nil {
		t.Errorf("the context held ended: %v", context.Cause(held))
	}
	mustUnlock(t, unlock)
	if n := direct.Exists(t.Context(), "rg:{1001}:lock").Val(); n != 0 {
		t.Error("given back once, the lock is still held")
	}
}

// Where the repeat is lost too, nobody has the lock, and Redis must not keep it for one
// who isn't there.
func TestLockNobodyKnowsOfStays(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, lose := losing(t, s, taking, 2)
	lose.Store(true)
	_, _, err := NewRedis(slow(c)).Lock(t.Context(), "1001")
	wantErrors(t, err, ErrUnavailable, io.EOF)

	other := overRedis(t, s)
	_, _, unlock := mustLock(t, other, "1001")
	mustUnlock(t, unlock)
}

// Given back, or lost before? The repeat finds no key either way, so the answer is that
// it isn't known.
func TestUnlockReplyLostIsTakenForSuccess(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, lose := losing(t, s, releasing, 1)
	_, _, unlock := mustLock(t, NewRedis(slow(c)), "1001")
	lose.Store(true)
	wantErrors(t, unlock(), ErrUnavailable, io.EOF)
	_, _, unlock = mustLock(t, overRedis(t, s), "1001")
	mustUnlock(t, unlock)
}

// The request was lost, on a connection that the server had closed. The repeat finds
// the lock held, and gives it back.
func TestLockStaysWhenTheConnectionWasStale(t *testing.T) {
	t.Parallel()
	s := start(t)
	var lost atomic.Bool
	c := &tapped{Client: dial(t, s.Addr()), call: func(what string, send func() *redis.Cmd) *redis.Cmd {
		if what == releasing && !lost.Swap(true) {
			return failed(io.EOF)
		}
		return send()
	}}
	_, _, unlock := mustLock(t, NewRedis(slow(c)), "1001")
	mustUnlock(t, unlock)
	_, _, unlock = mustLock(t, overRedis(t, s), "1001")
	mustUnlock(t, unlock)
}

func TestRenewalReplyLostLosesTheLock(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, lose := losing(t, s, renewing, 1)
	h, held, unlock := mustLock(t, NewRedis(slow(c)), "1001")
	lose.Store(true)
	h.renew()
	if n := count(t, h.redis.opt.Metrics.renewals[resultUnknown]); n != 1 {
		t.Errorf("%v renewals without an answer, want 1", n)
	}
	h.renew()
	if held.Err() != nil {
		t.Errorf("lost: %v", context.Cause(held))
	}
	mustUnlock(t, unlock)
}
