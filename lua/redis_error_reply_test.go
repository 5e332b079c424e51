package lua

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// What Redis says about itself is no verdict.
func TestErrorReplyReadsAsVerdict(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		make   func(*luatest.Server) (end func())
		says   string
		served bool // a call that writes nothing is answered all the same
		other  bool // afterwards it is another server, as far as the filter can tell
	}{
		"out of memory":    {(*luatest.Server).FillMemory, "OOM", true, false},
		"too few replicas": {(*luatest.Server).LackReplicas, "NOREPLICAS", true, false},
		"disk full":        {(*luatest.Server).FailSaves, "MISCONF", true, false},
		"busy":             {(*luatest.Server).Busy, "BUSY", false, false},
		"loading":          {(*luatest.Server).Load, "LOADING", false, false},
		"replica":          {(*luatest.Server).Demote, "READONLY", false, true},
		"orphaned replica": {(*luatest.Server).LoseMaster, "MASTERDOWN", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := luatest.Start(t)
			s, c := overRedis(t, server.Addr())
			buy := Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("bob", "k2")}}
			s.open(t, "1001", 10)
			verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)

			end := fault.make(server)
			errs := everyCall(s, buy) // a restore of what isn't noted, among them
			end()
			for call, err := range errs {
				if fault.served && (call == "View" || call == "Restore") {
					if err != nil {
						t.Errorf("%s: error %v", call, err)
					}
				} else if !redis.HasErrorPrefix(err, fault.says) {
					t.Errorf("%s: error %v, want %s", call, err, fault.says)
				}
			}
			if fault.other {
				verdicts(t, s.batch(t, buy), Stale)
				return
			}
			s.holds(t, "1001", 9, map[string]int64{"ann": 1})
			verdicts(t, s.batch(t, buy), Admitted)
			if names := c.Keys(t.Context(), "*").Val(); len(names) != 3 {
				t.Errorf("keys %q, want three", names)
			}
		})
	}
}

// A server that knows no script is told the source, once and never more.
func TestScriptsForgotten(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	s.open(t, "1001", 10)
	for i, user := range []string{"ann", "bob", "cleo"} {
		if err := c.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		verdicts(t, s.admit(t, "1001", ask(user, "k1")), Admitted)
		s.holds(t, "1001", int64(9-i), s.view(t, "1001").Buyers)
	}
	if !s.restore(t, "1001", "bob", "k1", 1) {
		t.Error("nothing given back")
	}
	s.holds(t, "1001", 8, map[string]int64{"ann": 1, "cleo": 1})
}

// A server that forgets the script before and after it learns it is not asked for
// ever.
func TestScriptsForgottenForEver(t *testing.T) {
	forgetful := &counted{err: proto("NOSCRIPT No matching script. Please use EVAL.")}
	_, err := NewRedis(RedisOptions{Client: forgetful}).Admit(t.Context(), Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1")}})
	if err == nil || forgetful.digests != 1 || forgetful.sources != 1 {
		t.Errorf("error %v after %d calls by digest and %d by source, want one each", err, forgetful.digests, forgetful.sources)
	}
}

// Of all that can go wrong only NOSCRIPT says that nothing was executed.
func TestErrorIsReplayed(t *testing.T) {
	for _, said := range []string{
		"OOM command not allowed", "BUSY Redis is busy", "READONLY You can't write", "LOADING Redis is loading",
		"MASTERDOWN Link with MASTER is down", "TRYAGAIN Multiple keys", "CLUSTERDOWN", "UNKILLABLE", "ERR unknown",
	} {
		broken := &counted{err: proto(said)}
		f := NewRedis(RedisOptions{Client: broken})
		for call, err := range everyCall(f, Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1")}}) {
			if !errors.Is(err, proto(said)) {
				t.Errorf("%s: error %v, want %q", call, err, said)
			}
		}
		if broken.digests != 4 || broken.sources != 0 {
			t.Errorf("%q: %d calls by digest and %d by source, want 4 and 0", said, broken.digests, broken.sources)
		}
	}
}
