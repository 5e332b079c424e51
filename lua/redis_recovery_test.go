package lua

import (
	"context"
	"sync"
	"testing"
	"time"

	"rushgate/lua/luatest"
)

// After an outage, in which every connection broke and many dials failed, the client
// works again by itself, whatever kind of outage it was.
func TestClientNeverRecovers(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(*luatest.Server, *luatest.Wire) (end func()){
		"killed": func(s *luatest.Server, _ *luatest.Wire) func() { s.Kill(); return s.Restart },
		"frozen": func(s *luatest.Server, _ *luatest.Wire) func() { s.Pause(); return s.Continue },
		"black hole": func(_ *luatest.Server, w *luatest.Wire) func() {
			w.Blackhole(true)
			return func() { w.Blackhole(false) }
		},
		"refused": func(_ *luatest.Server, w *luatest.Wire) func() { w.Refuse(true); return func() { w.Refuse(false) } },
		"mute":    func(_ *luatest.Server, w *luatest.Wire) func() { w.Hold(true); return func() { w.Hold(false) } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const conns, bound = 4, 20 * time.Millisecond
			server := luatest.Start(t)
			wire := luatest.NewWire(t, server)
			c := dialWith(t, DialOptions{Addrs: []string{wire.Addr()}, Conns: conns, Timeouts: Timeouts{
				Dial: bound, Read: bound, Write: bound, Pool: bound,
			}})
			f := NewRedis(RedisOptions{Client: c})
			recovered(t, f)
			end := outage(server, wire)
			var callers sync.WaitGroup
			for range 4 * conns {
				callers.Go(func() {
					for range 3 {
						if _, err := f.View(t.Context(), "1001", false); err == nil {
							t.Error("an answer in the outage")
						}
					}
				})
			}
			callers.Wait()
			end()
			recovered(t, f)
			if n := c.PoolStats().TotalConns; n > conns {
				t.Errorf("%d connections are open, %d are allowed", n, conns)
			}
		})
	}
}

// recovered waits until calls are answered.
func recovered(t *testing.T, f *Redis) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, err := f.View(ctx, "1001", false)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("no answer: %v", err)
		}
	}
}

// A failover moves the address to a replica that lacks the last writes. It must not
// be believed, and the client finds it.
func TestFailoverLosesTheTail(t *testing.T) {
	t.Parallel()
	pair := luatest.StartPair(t)
	wire := luatest.NewWire(t, pair.Primary)
	s, c := overRedis(t, wire.Addr())
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
	pair.LoseTail(func() { verdicts(t, s.admit(t, "1001", ask("bob", "k2")), Admitted) })
	wire.Point(pair.Replica)
	reconnect(t, c)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("bob", "k2"), ask("cleo", "k3")), Stale, Stale, Stale)
	s.open(t, "1001", 8, epoch(2), buyers(map[string]Note{"ann": {1, []string{"k1"}}, "bob": {1, []string{"k2"}}}))
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{ask("bob", "k2"), ask("cleo", "k3")}}), Again, Admitted)
}

// A primary takes another master_replid with the first replica that it has ever had:
// the sale is stale until its next seed. A second replica changes nothing.
func TestReplicaAttachedInTheMiddle(t *testing.T) {
	t.Parallel()
	primary := luatest.Start(t)
	s, _ := overRedis(t, primary.Addr())
	s.open(t, "1001", 10)
	luatest.StartReplica(t, primary)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Stale)
	s.open(t, "1001", 10, epoch(2))
	luatest.StartReplica(t, primary)
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{ask("ann", "k1")}}), Admitted)
}
