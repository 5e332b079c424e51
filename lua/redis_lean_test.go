package lua

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// Redis pays for a batch, not for its requests: the script makes the same few calls
// however many there are, up to the most that a batch may have.
func TestBatchCostsACallForEachRequest(t *testing.T) {
	t.Parallel()
	s, c := overRedis(t, luatest.Start(t).Addr())
	asked := map[string]int{"info": 1, "time": 1, "hmget": 2, "get": 1} // whatever the answer
	took := map[string]int{"info": 1, "time": 1, "hmget": 2, "get": 1, "hset": 2, "decrby": 1}
	told := map[string]int{"info": 1, "time": 1, "hmget": 2, "get": 1, "hkeys": 1}
	for _, n := range []int{1, 2, 100, maxBatch} {
		item := strconv.Itoa(n)
		s.open(t, item, int64(n))
		first, late := crowd(n), crowd(n)
		for i := range late {
			late[i].User += "-late"
		}
		var version int64
		for _, batch := range []struct {
			name     string
			requests []Request
			verdict  Verdict
			want     map[string]int
		}{
			{"admitted", first, Admitted, took},
			{"again", first, Again, asked},
			{"sold out, with the buyers", late, SoldOut, told},
			{"sold out, buyers known", late, SoldOut, asked},
		} {
			var reply Reply
			calls := countCalls(t, c, func() {
				reply = s.batch(t, Batch{Item: item, Epoch: 1, Version: version, Requests: batch.requests})
			})
			if batch.verdict == SoldOut {
				version = reply.Version
			}
			if slices.ContainsFunc(reply.Verdicts, func(v Verdict) bool { return v != batch.verdict }) {
				t.Errorf("%d requests: not all of them %v", n, batch.verdict)
			}
			if diff := cmp.Diff(batch.want, calls); diff != "" {
				t.Errorf("%d requests %s: calls (-want +got):\n%s", n, batch.name, diff)
			}
		}
	}
}

// countCalls is how often the server ran each command for do, inside scripts.
func countCalls(t *testing.T, c redis.UniversalClient, do func()) map[string]int {
	t.Helper()
	if err := c.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	do()
	stats, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(stats) {
		name, rest, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		count, _, _ := strings.Cut(rest, ",")
		if !found || slices.Contains([]string{"evalsha", "eval", "config|resetstat", "hello"}, name) {
			continue
		}
		if calls[name], err = strconv.Atoi(count); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return calls
}
