package lua

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

var errLost = errors.New("the reply is lost")

// losing loses everything after some calls: the requests, or only the replies.
type losing struct {
	Scripter
	after  int  // calls that go well
	before bool // the request is lost, not only its reply
}

func (l *losing) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return l.pass(ctx, func() *redis.Cmd { return l.Scripter.EvalSha(ctx, sha1, keys, args...) })
}

func (l *losing) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return l.Scripter.Eval(ctx, script, keys, args...) // the same call, of a script not known yet
}

func (l *losing) pass(ctx context.Context, call func() *redis.Cmd) *redis.Cmd {
	lost := redis.NewCmd(ctx)
	lost.SetErr(errLost)
	if l.after--; l.after >= 0 {
		return call()
	}
	if !l.before {
		call()
	}
	return lost
}

// hooked does something else after some calls.
type hooked struct {
	Scripter
	after int
	do    func()
}

func (h *hooked) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	if h.after--; h.after == -1 {
		h.do()
	}
	return h.Scripter.EvalSha(ctx, sha1, keys, args...)
}

// The request reaches Redis, the reply reaches nobody. Sent again by the client
// itself it would come back as "again" and look like a success of someone else;
// sent again by the caller it must change nothing.
func TestReplyLostTakesUnitsTwice(t *testing.T) {
	t.Parallel()
	server := luatest.Start(t)
	direct, _ := overRedis(t, server.Addr())
	wire := luatest.NewWire(t, server)
	s, c := overRedis(t, wire.Addr())
	direct.open(t, "1001", 10, perUser(5))
	verdicts(t, s.admit(t, "1001", ask("zoe", "k0")), Admitted) // the connection and the script are there

	lose := func(call func() error) {
		t.Helper()
		reconnect(t, c)
		before := wire.Lost()
		wire.LoseReplies(true)
		err := call()
		wire.LoseReplies(false)
		if err == nil {
			t.Error("no error, though the reply was lost")
		}
		if n := wire.Lost() - before; n != 1 {
			t.Errorf("%d replies lost: the request was sent so many times", n)
		}
		reconnect(t, c)
	}
	batch := Batch{Item: "1001", Epoch: 1, Requests: []Request{askFor(2, "ann", "k1"), ask("ann", "k2"), ask("bob", "k1")}}
	lose(func() error { _, err := s.Admit(t.Context(), batch); return err })
	direct.holds(t, "1001", 5, map[string]int64{"zoe": 1, "ann": 3, "bob": 1})
	verdicts(t, s.batch(t, batch), Again, Again, Again)
	direct.holds(t, "1001", 5, map[string]int64{"zoe": 1, "ann": 3, "bob": 1})

	s.restore(t, "1001", "zoe", "k0", 1)
	lose(func() error { _, err := s.Restore(t.Context(), "1001", "ann", "k1", 2); return err })
	if s.restore(t, "1001", "ann", "k1", 2) {
		t.Error("the units were given back twice")
	}
	direct.holds(t, "1001", 8, map[string]int64{"ann": 1, "bob": 1})
	lose(func() error { _, err := s.View(t.Context(), "1001", true); return err })
}

// A seed whose answers are lost has opened the epoch with all its buyers, or left
// the one before as it was.
func TestSeedReplyLost(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	for call, opened := range []bool{false, true} { // the only chunk, the flip
		item := "1001-" + string(rune('a'+call))
		seed := s.open(t, item, 10)
		seed.Epoch, seed.Stock, seed.Buyers = 2, 4, map[string]Note{"ann": {1, []string{"k1"}}}
		seeder := NewRedis(RedisOptions{Client: &losing{Scripter: c, after: call}, Keep: time.Hour})
		if err := seeder.Seed(t.Context(), seed); !errors.Is(err, errLost) {
			t.Errorf("reply %d lost: Seed = %v", call, err)
		}
		if opened {
			s.holds(t, item, 4, map[string]int64{"ann": 1})
			if err := s.Seed(t.Context(), seed); !errors.Is(err, ErrOlder) {
				t.Errorf("Seed again = %v, want ErrOlder", err)
			}
		} else {
			s.holds(t, item, 10, map[string]int64{})
			if err := s.Seed(t.Context(), seed); err != nil {
				t.Errorf("Seed again = %v", err)
			}
		}
	}
}
