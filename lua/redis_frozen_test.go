package lua

import (
	"context"
	"testing"
	"time"

	"rushgate/lua/luatest"
)

// A server that is frozen keeps its connections and answers nothing. Either bound
// ends the call: the context's deadline, or the client's own timeout.
func TestFrozenServerHoldsTheCaller(t *testing.T) {
	t.Parallel()
	const soon, never = 50 * time.Millisecond, time.Hour
	for name, bound := range map[string]struct{ read, deadline time.Duration }{
		"by the deadline": {never, soon},
		"by the timeout":  {soon, never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := luatest.Start(t)
			direct, _ := overRedis(t, server.Addr())
			direct.open(t, "1001", 10)
			c, err := Dial(DialOptions{Addrs: []string{server.Addr()}, Timeouts: Timeouts{Dial: soon, Read: bound.read, Write: never, Pool: never}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			reconnect(t, c)

			server.Pause()
			f := NewRedis(RedisOptions{Client: c})
			ended := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), bound.deadline)
				defer cancel()
				_, err := f.Admit(ctx, Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1")}})
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("a frozen server gave a verdict")
				}
			case <-time.After(20 * time.Second):
				server.Kill() // lets the call go
				t.Fatal("the call is held for ever")
			}

			// What it was sent it may execute now, or never. The repeat takes one unit
			// all the same.
			server.Continue()
			reply := direct.admit(t, "1001", ask("ann", "k1"))
			if v := reply.Verdicts[0]; v != Again && v != Admitted {
				t.Errorf("the repeat was told %v", v)
			}
			direct.holds(t, "1001", 9, map[string]int64{"ann": 1})
		})
	}
}

func TestServerGone(t *testing.T) {
	t.Parallel()
	server := luatest.Start(t)
	s, _ := overRedis(t, server.Addr())
	s.open(t, "1001", 10)
	server.Kill()
	for range 2 { // over a connection that broke, and over none
		for call, err := range everyCall(s, Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1")}}) {
			if err == nil {
				t.Errorf("%s: no error", call)
			}
		}
	}
}
