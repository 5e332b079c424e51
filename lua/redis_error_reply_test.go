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
	server := luatest.Start(t)
	s, _ := overRedis(t, server.Addr())
	admin := server.Client()
	buy := Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("bob", "k2")}}
	refused := func(prefix string, errs map[string]error) {
		t.Helper()
		for call, err := range errs {
			if !redis.HasErrorPrefix(err, prefix) {
				t.Errorf("%s: error %v, want %s", call, err, prefix)
			}
		}
		s.holds(t, "1001", 9, map[string]int64{"ann": 1})
	}
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)

	set := func(name, value string) {
		t.Helper()
		if err := admin.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory", "1")
	errs := everyCall(s, buy)
	set("maxmemory", "0")
	if errs["View"] != nil || errs["Restore"] != nil { // they write nothing
		t.Errorf("out of memory: View %v, Restore %v", errs["View"], errs["Restore"])
	}
	delete(errs, "View")
	delete(errs, "Restore")
	refused("OOM", errs)

	set("min-replicas-to-write", "1")
	errs = everyCall(s, buy)
	set("min-replicas-to-write", "0")
	delete(errs, "View")
	delete(errs, "Restore")
	refused("NOREPLICAS", errs)

	set("busy-reply-threshold", "1")
	errs = whileBusy(t, admin, func() map[string]error { return everyCall(s, buy) })
	refused("BUSY", errs)
	verdicts(t, s.batch(t, buy), Admitted)
}

// whileBusy does something while a script that never ends holds the server up.
func whileBusy(t *testing.T, admin *redis.Client, do func() map[string]error) map[string]error {
	t.Helper()
	ended := make(chan error)
	go func() { ended <- admin.Eval(t.Context(), "while true do end", nil).Err() }()
	for !redis.HasErrorPrefix(admin.Ping(t.Context()).Err(), "BUSY") {
		if t.Context().Err() != nil {
			t.Fatal("the server was never busy")
		}
	}
	errs := do()
	if err := admin.ScriptKill(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the endless script ended by itself")
	}
	return errs
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
