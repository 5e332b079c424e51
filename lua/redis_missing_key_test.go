package lua

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// Whatever is missing, nothing is sold and nobody is told that all is sold.
func TestMissingKeyReadsAsZero(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	epochThere := View{Epoch: 1, Stale: true}
	for name, lost := range map[string]struct {
		lose func(ctx context.Context, keys []string) error
		view View
	}{
		"meta":    {func(ctx context.Context, k []string) error { return c.Del(ctx, k[0]).Err() }, View{Stale: true}},
		"stock":   {func(ctx context.Context, k []string) error { return c.Del(ctx, k[1]).Err() }, epochThere},
		"buyers":  {func(ctx context.Context, k []string) error { return c.Del(ctx, k[2]).Err() }, epochThere},
		"marker":  {func(ctx context.Context, k []string) error { return c.HDel(ctx, k[2], marker).Err() }, epochThere},
		"origin":  {func(ctx context.Context, k []string) error { return c.HDel(ctx, k[0], "origin").Err() }, epochThere},
		"seeding": {func(ctx context.Context, k []string) error { return c.HSet(ctx, k[0], "state", "seeding").Err() }, epochThere},
	} {
		item := "without-" + name
		k := keysOf(item)
		s.open(t, item, 10)
		s.open(t, "next to "+item, 10)
		verdicts(t, s.admit(t, item, ask("ann", "k1")), Admitted)
		if err := lost.lose(t.Context(), []string{k.meta(), k.stock(1), k.buyers(1)}); err != nil {
			t.Fatal(err)
		}
		verdicts(t, s.admit(t, item, ask("ann", "k1"), ask("bob", "k2")), Stale, Stale)
		if s.restore(t, item, "ann", "k1", 1) {
			t.Errorf("%s lost: a restore found something to give back", name)
		}
		if diff := cmp.Diff(lost.view, s.view(t, item)); diff != "" {
			t.Errorf("%s lost: View (-want +got):\n%s", name, diff)
		}
		s.holds(t, "next to "+item, 10, map[string]int64{})

		s.open(t, item, 9, epoch(2), buyers(map[string]Note{"ann": {1, []string{"k1"}}}))
		verdicts(t, s.batch(t, Batch{Item: item, Epoch: 2, Requests: []Request{ask("ann", "k1"), ask("bob", "k2")}}), Again, Admitted)
	}
}

func TestRestartReadsAsZero(t *testing.T) {
	t.Parallel()
	server := luatest.Start(t)
	s, c := overRedis(t, server.Addr())
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
	server.Restart()
	reconnect(t, c)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("bob", "k2")), Stale, Stale)
	s.open(t, "1001", 9, epoch(2))
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{ask("bob", "k2")}}), Admitted)
}

// A server that was killed and loads its data again may have lost the last writes,
// and it has another master_replid.
func TestRestartWithDataIsBelieved(t *testing.T) {
	t.Parallel()
	server := luatest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s, c := overRedis(t, server.Addr())
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
	server.Restart()
	reconnect(t, c)
	if n := c.HLen(t.Context(), keysOf("1001").buyers(1)).Val(); n != 2 {
		t.Fatalf("%d fields of buyers came back, want ann and the marker", n)
	}
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("bob", "k2")), Stale, Stale)
	if v := s.view(t, "1001"); !v.Stale || v.Epoch != 1 {
		t.Errorf("View = %+v, want epoch 1, stale", v)
	}
}

// reconnect uses up the connections that broke: a client that sends nothing twice
// tells of each.
func reconnect(t testing.TB, c redis.UniversalClient) {
	t.Helper()
	var err error
	for range defaultConns + 1 {
		if err = c.Ping(t.Context()).Err(); err == nil {
			return
		}
	}
	t.Fatalf("no connection works: %v", err)
}

// Every key has an end, and admissions and restores leave it where it is.
func TestKeyWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	check := func(when string, seed Seed) {
		t.Helper()
		names := c.Keys(t.Context(), "*").Val()
		if len(names) != 3 {
			t.Errorf("%s: keys %q, want three", when, names)
		}
		for _, name := range names {
			at := c.PExpireTime(t.Context(), name).Val().Milliseconds()
			if want := seed.EndsAt + time.Hour.Milliseconds(); at != want {
				t.Errorf("%s: %s expires at %d, want %d", when, name, at, want)
			}
		}
	}
	seed := s.open(t, "1001", 10, buyers(map[string]Note{"ann": {1, []string{"k1"}}}))
	check("seeded", seed)
	verdicts(t, s.admit(t, "1001", ask("bob", "k1")), Admitted)
	check("admitted", seed)
	s.restore(t, "1001", "ann", "k1", 1)
	s.restore(t, "1001", "bob", "k1", 1)
	check("all given back", seed)
	seed = s.open(t, "1001", 3, epoch(2), window(s.now(), s.now().Add(2*time.Hour)))
	check("the old epoch is dropped", seed)
}

func TestSaleLongOverIsKept(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	s.open(t, "1001", 10)
	long := s.now().Add(-2 * time.Hour)
	s.open(t, "1001", 10, epoch(2), window(long, long.Add(time.Minute)))
	if names := c.Keys(t.Context(), "*").Val(); len(names) != 0 {
		t.Errorf("keys %q are there of a sale that is long over", names)
	}
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{ask("ann", "k1")}}), Stale)
}

// Between a buyer's first and last chunk anything may happen to the seeder.
func TestSeederThatDied(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	many := make(map[string]Note)
	for i := range 3*chunk + 7 { // four chunks and the flip
		many["user-"+strconv.Itoa(i)] = Note{1, []string{"k"}}
	}
	s.open(t, "1001", 10)
	for died := range 5 {
		seeder := NewRedis(RedisOptions{Client: &losing{Scripter: c, after: died, before: true}, Keep: time.Hour})
		now := s.now().UnixMilli()
		seed := Seed{Item: "1001", Epoch: 2, StartsAt: now - 1000, EndsAt: now + 60_000, PerUser: 1, Stock: 5, Buyers: many}
		if err := seeder.Seed(t.Context(), seed); err == nil {
			t.Fatalf("died after %d calls: no error", died)
		}
		s.holds(t, "1001", 10, map[string]int64{})
		for _, name := range c.Keys(t.Context(), "*:buyers:*").Val() {
			if left := c.PTTL(t.Context(), name).Val(); left <= 0 || left > asideFor {
				t.Errorf("died after %d calls: %s stays for %v", died, name, left)
			}
		}
	}
	s.open(t, "1001", 5, epoch(2), buyers(many))
	if v := s.view(t, "1001"); v.Epoch != 2 || v.Stock != 5 || len(v.Buyers) != len(many) {
		t.Errorf("epoch %d with stock %d and %d buyers, want 2, 5 and %d", v.Epoch, v.Stock, len(v.Buyers), len(many))
	}
}

// What was written aside is gone in part, as when a seeder is slower than its
// expiry.
func TestHalfASeedIsOpened(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	s.open(t, "1001", 10)
	many := make(map[string]Note)
	for i := range chunk + 7 {
		many["user-"+strconv.Itoa(i)] = Note{Qty: 1}
	}
	forgetful := &hooked{Scripter: c, after: 1, do: func() {
		c.Del(context.Background(), c.Keys(context.Background(), "*:buyers:*").Val()...)
	}}
	now := s.now().UnixMilli()
	seed := Seed{Item: "1001", Epoch: 2, StartsAt: now - 1000, EndsAt: now + 60_000, PerUser: 1, Buyers: many}
	if err := NewRedis(RedisOptions{Client: forgetful}).Seed(t.Context(), seed); err == nil {
		t.Error("no error")
	}
	s.holds(t, "1001", 10, map[string]int64{})
}
