package lua

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"rushgate/lua/luatest"
)

// proto is an error reply of a server's.
type proto string

func (e proto) Error() string { return string(e) }
func (proto) RedisError()     {}

// counted answers every call the same, and counts them.
type counted struct {
	answer           any
	err              error
	digests, sources int
}

func (c *counted) EvalSha(_ context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	c.digests++
	return redis.NewCmdResult(c.answer, c.err)
}

func (c *counted) Eval(_ context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	c.sources++
	return redis.NewCmdResult(c.answer, c.err)
}

// Another program may write under our names, and an older one may run beside us.
func TestAnswerOfAnotherShape(t *testing.T) {
	type list = []any
	long := list{"8", int64(1), int64(1), int64(1)}
	for _, answer := range []any{
		nil, "OK", int64(7), list{}, list{"8"}, list{int64(1)}, list{int64(1), int64(0)},
		list{"8", "1", int64(1), int64(1)}, list{int64(8), int64(1), int64(1), int64(1)},
		list{"88", int64(1), int64(1), int64(1)}, list{"", int64(1), int64(1), int64(1)},
		list{"0", int64(1), int64(1), int64(1)}, list{"9", int64(1), int64(1), int64(1)}, list{" ", int64(1), int64(1), int64(1)},
		append(long[:4:4], "ann"), append(long[:4:4], list{int64(1)}),
		list{int64(1), int64(0), int64(1), int64(1), int64(1)}, // no buyers, though asked for
		list{int64(1), int64(0), int64(1), int64(1), int64(1), list{"ann"}},
		list{int64(1), int64(0), int64(1), int64(1), int64(1), list{"ann", int64(1)}},
		list{int64(1), int64(0), int64(1), int64(1), int64(1), list{"ann", "one"}},
	} {
		f := NewRedis(RedisOptions{Client: &counted{answer: answer}})
		for call, err := range everyCall(f, Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1")}}) {
			if err == nil {
				t.Errorf("%s: no error for %#v", call, answer)
			}
		}
	}
}

func TestNoteOfAnotherShape(t *testing.T) {
	for _, note := range []string{
		"", "x", ";", "1;", "1;1", "1;1,", "1;1,2", "1;1,2:", "1;1,2:k", "1;x,1:k", "1;1,x:k", "1;1,-1:k", "1;1,1:kk", "1;1,1:k;", "1,1:k",
	} {
		if units, err := unitsOf(note); err == nil {
			t.Errorf("unitsOf(%q) = %d, want an error", note, units)
		}
	}
}

// A biz_id is the client's, and holds whatever the client likes; so may a name.
func TestBizIDThatLooksLikeANote(t *testing.T) {
	t.Parallel()
	s, _ := overRedis(t, luatest.Start(t).Addr())
	nasty := []string{"", ";", ";1,1:k", "1,2:;", "\x00", "\r\n", "é😀", "%d(", "\xff\xfe", strings.Repeat("9,", 600), "k", "}"}
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		item := rapid.SampledFrom(nasty).Draw(rt, "item") + strings.Repeat("x", run)
		who := "u" + rapid.SampledFrom(nasty).Draw(rt, "user")
		ids := rapid.SliceOfNDistinct(rapid.SampledFrom(nasty), 2, len(nasty), rapid.ID).Draw(rt, "biz_ids")
		noted, asked := ids[:len(ids)/2], ids[len(ids)/2:]
		s.open(t, item, 1000, perUser(1000), buyers(map[string]Note{who: {7, noted}}))
		held := int64(7)
		for _, id := range noted {
			verdicts(t, s.admit(t, item, ask(who, id)), Again)
		}
		for _, id := range asked {
			verdicts(t, s.admit(t, item, askFor(3, who, id), ask(who, id)), Admitted, Again)
			held += 3
		}
		s.holds(t, item, 1007-held, map[string]int64{who: held})
		for _, id := range asked {
			if !s.restore(t, item, who, id, 1) || s.restore(t, item, who, id, 1) {
				rt.Fatalf("%q was not given back exactly once", id)
			}
		}
		s.holds(t, item, 1000, map[string]int64{who: 7})
	})
}

func TestNumberThatAScriptRounds(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	now := s.now().UnixMilli()
	good := Seed{Item: "1001", Epoch: 1, StartsAt: now - 1, EndsAt: now + 60_000, PerUser: 1, Stock: 1}
	for name, bad := range map[string]func(*Seed){
		"epoch":    epoch(1 << 53),
		"per_user": perUser(math.MaxInt64),
		"stock":    func(s *Seed) { s.Stock = 1<<53 - 1 },
		"starts":   func(s *Seed) { s.StartsAt = math.MinInt64 },
		"ends":     func(s *Seed) { s.EndsAt = 1<<53 - time.Hour.Milliseconds() - 1 },
		"never":    func(s *Seed) { s.EndsAt = math.MaxInt64 },
		"units":    buyers(map[string]Note{"ann": {math.MaxInt64, nil}, "bob": {math.MaxInt64, nil}}),
		"together": func(s *Seed) { s.Stock, s.Buyers = 1<<52, map[string]Note{"ann": {1 << 52, nil}} },
		"no name":  buyers(map[string]Note{"": {1, nil}}),
	} {
		seed := good
		bad(&seed)
		if err := s.Seed(t.Context(), seed); err == nil || errors.Is(err, ErrOlder) {
			t.Errorf("%s: error %v, want one that says so", name, err)
		}
	}
	if names := c.Keys(t.Context(), "*").Val(); len(names) != 0 {
		t.Errorf("a seed that is refused has left %q", names)
	}

	// Just below, everything is exact.
	const most = 1<<53 - 2
	good.Epoch, good.Stock, good.PerUser = most, most-10, most
	good.Buyers = map[string]Note{"ann": {9, []string{"k0"}}}
	if err := s.Seed(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: most, Requests: []Request{ask("bob", "k1")}}), Admitted)
	s.holds(t, "1001", most-11, map[string]int64{"ann": 9, "bob": 1})
	s.restore(t, "1001", "ann", "k0", 9)
	s.restore(t, "1001", "bob", "k1", 1)
	s.holds(t, "1001", most-1, map[string]int64{})
}

func TestCallThatRedisCannotServe(t *testing.T) {
	untouched := &counted{err: errors.New("asked")}
	f := NewRedis(RedisOptions{Client: untouched})
	_, noName := f.Admit(t.Context(), Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("", "k1")}})
	_, tooMany := f.Admit(t.Context(), Batch{Item: "1001", Epoch: 1, Requests: crowd(maxBatch + 1)})
	_, nobody := f.Restore(t.Context(), "1001", "", "k1", 1)
	if noName == nil || tooMany == nil || nobody == nil || untouched.digests != 0 {
		t.Errorf("errors %v, %v, %v after %d calls, want three and none", noName, tooMany, nobody, untouched.digests)
	}
}

// Lua's stack bounds a batch; the largest that we allow must fit, with a note each.
func TestLargestBatch(t *testing.T) {
	t.Parallel()
	s, _ := overRedis(t, luatest.Start(t).Addr())
	s.open(t, "1001", maxBatch)
	rush := crowd(maxBatch)
	if n := took(rush, s.admit(t, "1001", rush...).Verdicts); n != maxBatch {
		t.Errorf("%d units sold of %d", n, maxBatch)
	}
}

func TestDialNeedsOneAddress(t *testing.T) {
	for _, addrs := range [][]string{nil, {}, {"127.0.0.1:1", "127.0.0.1:2"}} {
		if c, err := Dial(DialOptions{Addrs: addrs}); err == nil {
			_ = c.Close()
			t.Errorf("Dial(%q): no error", addrs)
		}
	}
}
