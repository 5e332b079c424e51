package lua

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/lua/luatest"
)

// The clock is Redis' own and can't be set, so the windows come to it: each opens
// and closes within milliseconds, and is asked about all the while. By the clock that
// a batch was decided at, the first moment is in, the last one is out, and Memory
// says the same.
func TestWindowIsOffByOne(t *testing.T) {
	t.Parallel()
	scripts, _ := overRedis(t, luatest.Start(t).Addr())
	c := newClock()
	memory := subject{Filter: NewMemory(MemoryOptions{Now: c.now, Keep: time.Hour}), now: c.now}
	const open = 3 // milliseconds
	edges := map[string]bool{"before the first": false, "the first": false, "the last": false, "after the last": false}
	seen := 0
	for run := 0; seen < len(edges); run++ {
		if run == 20_000 {
			t.Fatalf("after %d windows not every edge was met: %v", run, edges)
		}
		c.millis.Store(scripts.now().UnixMilli())
		item, starts := strconv.Itoa(run), c.millis.Load()+2
		window := func(s *Seed) { s.StartsAt, s.EndsAt = starts, starts+open }
		scripts.open(t, item, 1_000_000, window, perUser(1_000_000))
		memory.open(t, item, 1_000_000, window, perUser(1_000_000))
		for try, over := 0, false; !over; try++ {
			b := Batch{Item: item, Epoch: 1, Requests: []Request{ask("ann", strconv.Itoa(try))}}
			got := scripts.batch(t, b)
			c.millis.Store(got.Now)
			verdicts(t, got, inWindow(got.Now-starts, open))
			want := memory.batch(t, b)
			want.Version = got.Version // each counts in its own way
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%d ms after the start (-Memory +Redis):\n%s", got.Now-starts, diff)
			}
			if edge, met := map[int64]string{-1: "before the first", 0: "the first", open - 1: "the last", open: "after the last"}[got.Now-starts]; met && !edges[edge] {
				edges[edge] = true
				seen++
			}
			over = got.Now >= starts+open
		}
	}
}

// inWindow is the verdict so many milliseconds after the start of a window.
func inWindow(since, open int64) Verdict {
	switch {
	case since < 0:
		return NotStarted
	case since >= open:
		return Ended
	}
	return Admitted
}
