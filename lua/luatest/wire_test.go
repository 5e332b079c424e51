package luatest_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// wired is a client of one connection over a wire, and one that goes past it.
func wired(t *testing.T) (s *luatest.Server, w *luatest.Wire, over, past *redis.Client) {
	t.Helper()
	s = luatest.Start(t)
	w = luatest.NewWire(t, s)
	over = redis.NewClient(&redis.Options{
		Addr: w.Addr(), MaxRetries: -1, DialerRetries: 1, PoolSize: 1, ContextTimeoutEnabled: true, DisableIdentity: true, Protocol: 2,
	})
	t.Cleanup(func() { _ = over.Close() })
	past = s.Client()
	set(t, over, "n", "0")
	return s, w, over, past
}

// begin increments n in the background.
func begin(t *testing.T, c *redis.Client) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Incr(t.Context(), "n").Err() }()
	return ended
}

// until waits until a counter has moved on.
func until(t *testing.T, counter func() int64) {
	t.Helper()
	for began := time.Now(); counter() == 0; {
		if time.Since(began) > 20*time.Second {
			t.Fatal("nothing has happened for 20 seconds")
		}
		time.Sleep(time.Millisecond)
	}
}

// timedOut says that a call ended because its time was over, and for no other reason.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

func TestHeldReplyIsLost(t *testing.T) {
	t.Parallel()
	_, w, over, past := wired(t)
	w.Hold(true)
	ended := begin(t, over)
	until(t, w.Held)
	want(t, past, "n", "1") // executed
	select {
	case err := <-ended:
		t.Fatalf("the reply wasn't held: %v", err)
	default:
	}
	w.Hold(false)
	if err := <-ended; err != nil {
		t.Errorf("the reply that was held: %v", err)
	}
	want(t, over, "n", "1")
}

func TestBlackholeLetsSomethingThrough(t *testing.T) {
	t.Parallel()
	_, w, over, past := wired(t)
	w.Blackhole(true)
	ended := begin(t, over)
	until(t, w.Swallowed)

	fresh := redis.NewClient(&redis.Options{Addr: w.Addr(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, ReadTimeout: time.Hour, DialTimeout: time.Hour})
	defer func() { _ = fresh.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := fresh.Incr(ctx, "n").Err(); !timedOut(err) {
		t.Errorf("a new connection into the hole: %v, want a timeout", err)
	}
	want(t, past, "n", "0") // neither arrived
	w.Blackhole(false)
	if err := <-ended; err == nil {
		t.Error("a request that was swallowed was answered")
	}
	set(t, over, "n", "5")
	want(t, past, "n", "5")
}

// A hole through which nothing was sent has not happened.
func TestBlackholeCutsIdleConnections(t *testing.T) {
	t.Parallel()
	_, w, over, _ := wired(t)
	w.Blackhole(true)
	w.Blackhole(false)
	if err := over.Incr(t.Context(), "n").Err(); err != nil {
		t.Error(err)
	}
}

// A server that dies behind a hole is not seen to.
func TestBlackholeTellsOfADeath(t *testing.T) {
	t.Parallel()
	s, w, over, _ := wired(t)
	w.Blackhole(true)
	s.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := over.Incr(ctx, "n").Err(); !timedOut(err) {
		t.Errorf("%v, want a timeout", err)
	}
}

func TestRefusingWireConnects(t *testing.T) {
	t.Parallel()
	_, w, over, past := wired(t)
	w.Refuse(true)
	for range 2 { // the connection that is open, a new one
		if err := over.Incr(t.Context(), "n").Err(); err == nil {
			t.Error("no error")
		}
	}
	w.Refuse(false)
	set(t, over, "n", "5")
	want(t, past, "n", "5")
}

func TestDelayIsForgotten(t *testing.T) {
	t.Parallel()
	const late = 50 * time.Millisecond
	_, w, over, past := wired(t)
	w.Delay(late)
	began := time.Now()
	replies, err := over.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for range 1000 {
			p.Incr(t.Context(), "n")
		}
		return nil
	})
	if took := time.Since(began); err != nil || took < late {
		t.Errorf("the replies came after %v, %v, want %v at least", took, err, late)
	}
	for i, r := range replies { // and in order
		if got := r.(*redis.IntCmd).Val(); got != int64(i+1) {
			t.Fatalf("reply %d is %d", i+1, got)
		}
	}
	w.Delay(0)
	want(t, past, "n", "1000")
}

func TestWirePointsBack(t *testing.T) {
	t.Parallel()
	s, w, over, past := wired(t)
	other := luatest.Start(t)
	ended := make(chan error, 1)
	waiting := redis.NewClient(&redis.Options{Addr: w.Addr(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	defer func() { _ = waiting.Close() }()
	set(t, waiting, "k", "v")
	s.Pause()
	go func() { ended <- waiting.Get(t.Context(), "k").Err() }()
	w.Point(other)
	if err := <-ended; err == nil {
		t.Error("the old server answered")
	}
	s.Continue()
	_ = over.Ping(t.Context()) // uses up the connection that was cut
	set(t, over, "n", "7")
	want(t, other.Client(), "n", "7")
	want(t, past, "n", "0")
}

func TestWireReadsWhatItCarries(t *testing.T) {
	t.Parallel()
	s := luatest.StartTLS(t)
	w := luatest.NewWire(t, s)
	c := redis.NewClient(&redis.Options{Addr: w.Addr(), TLSConfig: s.TLS(), MaxRetries: -1})
	defer func() { _ = c.Close() }()
	set(t, c, "k", "v")
	want(t, s.Client(), "k", "v")
}
