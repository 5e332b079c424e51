package lua

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rushgate/lua/luatest"
)

// Redis decides what Memory decides. Each call goes to Redis first, and Memory's
// clock then stands where Redis' stood, so the windows may open and close in the
// middle of a run.
func TestRedisAndMemoryDisagree(t *testing.T) {
	t.Parallel()
	scripts, _ := overRedis(t, luatest.Start(t).Addr())
	c := newClock()
	memory := subject{Filter: NewMemory(MemoryOptions{Now: c.now, Keep: time.Hour}), now: c.now}
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		item, known := "1001-"+strconv.Itoa(run), int64(0)
		c.millis.Store(scripts.now().UnixMilli())
		rt.Repeat(map[string]func(*rapid.T){
			"seed": func(rt *rapid.T) {
				s := drawSeed(rt, item, c.millis.Load())
				a, b := scripts.Seed(t.Context(), s), memory.Seed(t.Context(), s)
				if !errors.Is(a, b) {
					rt.Fatalf("Seed(%+v): %v from Redis, %v from Memory", s, a, b)
				}
			},
			"admit": func(rt *rapid.T) {
				b := Batch{
					Item: item, Epoch: rapid.Int64Range(0, 4).Draw(rt, "epoch"),
					Requests: rapid.SliceOfN(rapid.Custom(request), 0, 12).Draw(rt, "requests"),
				}
				got := scripts.batch(t, b)
				c.millis.Store(got.Now)
				want := memory.batch(t, b)
				if (got.Version != known) != (took(b.Requests, got.Verdicts) > 0) && got.Version != 0 && known != 0 {
					rt.Fatalf("Admit(%+v) moved the version from %d to %d", b, known, got.Version)
				}
				want.Version = got.Version // each counts in its own way
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("Admit(%+v) (-Memory +Redis):\n%s", b, diff)
				}
			},
			"restore": func(rt *rapid.T) {
				r := rapid.Custom(request).Draw(rt, "attempt")
				a, b := scripts.restore(t, item, r.User, r.BizID, int64(r.Qty)), memory.restore(t, item, r.User, r.BizID, int64(r.Qty))
				if a != b {
					rt.Fatalf("Restore(%+v): %t from Redis, %t from Memory", r, a, b)
				}
			},
			"": func(rt *rapid.T) {
				got, want := scripts.view(t, item), memory.view(t, item)
				known, want.Version = got.Version, got.Version
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("View (-Memory +Redis):\n%s", diff)
				}
			},
		})
	})
}

// drawSeed draws a seed whose window is open, closed, or about to change within a
// few milliseconds.
func drawSeed(t *rapid.T, item string, now int64) Seed {
	starts := now + rapid.SampledFrom([]int64{-60_000, -60_000, 2, 5, 60_000}).Draw(t, "starts in")
	return Seed{
		Item: item, Epoch: rapid.Int64Range(1, 4).Draw(t, "epoch"),
		StartsAt: starts, EndsAt: starts + rapid.SampledFrom([]int64{0, 3, 60_003, 600_000, 600_000}).Draw(t, "lasts"),
		PerUser: rapid.Int64Range(1, 6).Draw(t, "per_user"),
		Paused:  rapid.IntRange(0, 9).Draw(t, "paused") == 0,
		Stock:   rapid.Int64Range(0, 12).Draw(t, "stock"),
		Buyers:  rapid.MapOfN(user(), rapid.Custom(seeded), 0, 3).Draw(t, "buyers"),
	}
}
