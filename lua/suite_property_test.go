package lua

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// testExactlyN sells N units, in batches of any size, to more or fewer buyers
// than there are units: as many are sold as first come, first served gives out.
func testExactlyN(t *testing.T, s subject) {
	for _, n := range []int64{0, 1, 2, 999, 1000} {
		item := "plain-" + strconv.FormatInt(n, 10)
		s.open(t, item, n)
		rush := crowd(1200)
		reply := s.admit(t, item, rush...)
		if got := took(rush, reply.Verdicts); got != n || reply.Left != 0 {
			t.Errorf("%d units sold and %d left of %d, to a rush of 1,200", got, reply.Left, n)
		}
	}
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		item := "drawn-" + strconv.Itoa(run)
		stock := rapid.Int64Range(0, 1000).Draw(rt, "units")
		limit := rapid.Int64Range(1, 5).Draw(rt, "per_user")
		users := rapid.IntRange(1, 800).Draw(rt, "users")
		chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		s.open(t, item, stock, perUser(limit))

		left, held := stock, map[string]int64{}
		for sent := rapid.IntRange(0, 2000).Draw(rt, "requests"); sent > 0; {
			batch := make([]Request, min(sent, 1+chance.IntN(300)))
			sent -= len(batch)
			var want []Verdict
			for i := range batch {
				r := askFor(1+chance.IntN(6), "user-"+strconv.Itoa(chance.IntN(users)), "key-"+strconv.Itoa(sent+i))
				batch[i] = r
				want = append(want, greedy(r, &left, held, limit))
			}
			reply := s.admit(t, item, batch...)
			if diff := cmp.Diff(want, reply.Verdicts); diff != "" || reply.Left != left {
				rt.Fatalf("%d left, want %d; verdicts (-want +got):\n%s", reply.Left, left, diff)
			}
		}
		s.holds(t, item, left, held)
		var sold int64
		for user, units := range s.view(t, item).Buyers {
			sold += units
			if units > limit {
				rt.Fatalf("%s holds %d units, the limit is %d", user, units, limit)
			}
		}
		if sold > stock || sold+left != stock {
			rt.Fatalf("%d units sold and %d left of %d", sold, left, stock)
		}
	})
}

// greedy serves one request, first come, first served.
func greedy(r Request, left *int64, held map[string]int64, limit int64) Verdict {
	qty := int64(r.Qty)
	if held[r.User]+qty > limit {
		return Duplicate
	}
	if qty > *left {
		return SoldOut
	}
	*left -= qty
	held[r.User] += qty
	return Admitted
}

// testTwiceIsOnce makes each call twice, as a network does that loses a reply:
// the second one takes nothing, gives nothing, and moves no version.
func testTwiceIsOnce(t *testing.T, s subject) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		item := "1001-" + strconv.Itoa(run)
		s.open(t, item, rapid.Int64Range(0, 20).Draw(rt, "units"), perUser(rapid.Int64Range(1, 6).Draw(rt, "per_user")),
			buyers(rapid.MapOfN(user(), rapid.Custom(seeded), 0, 3).Draw(rt, "buyers")))
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			batch := rapid.SliceOfN(rapid.Custom(request), 1, 8).Draw(rt, "requests")
			first := s.admit(t, item, batch...)
			after := s.view(t, item)
			second := s.admit(t, item, batch...)
			for i, v := range first.Verdicts {
				if again := second.Verdicts[i]; again == Admitted || v == Admitted && again != Again {
					rt.Fatalf("request %d was told %v, then %v", i, v, again)
				}
			}
			if diff := cmp.Diff(after, s.view(t, item)); diff != "" {
				rt.Fatalf("the second Admit changed (-before +after):\n%s", diff)
			}

			r := rapid.Custom(request).Draw(rt, "restore")
			s.restore(t, item, r.User, r.BizID, int64(r.Qty))
			after = s.view(t, item)
			if s.restore(t, item, r.User, r.BizID, int64(r.Qty)) {
				rt.Fatalf("the second Restore of %+v says that it changed something", r)
			}
			if diff := cmp.Diff(after, s.view(t, item)); diff != "" {
				rt.Fatalf("the second Restore changed (-before +after):\n%s", diff)
			}
		}
	})
}

// testManyCallers lets 64 callers buy until everything is gone, all reading the
// buyers that they are told.
func testManyCallers(t *testing.T, s subject) {
	const stock, callers, batches = 1000, 64, 12
	s.open(t, "1001", stock, perUser(2))
	s.open(t, "1002", stock, perUser(2)) // a neighbour, which nobody buys
	var running sync.WaitGroup
	var sold atomic.Int64
	for c := range callers {
		running.Go(func() {
			var known int64
			for i := range batches {
				who := "user-" + strconv.Itoa(c*batches+i)
				requests := []Request{askFor(2, who, "k1"), ask(who, "k2"), ask("shared-"+strconv.Itoa(i), "k"+strconv.Itoa(c)), ask(who+"x", "k3")}
				reply, err := s.Admit(t.Context(), Batch{Item: "1001", Epoch: 1, Requests: requests, Version: known})
				if err != nil {
					t.Errorf("Admit: %v", err)
					return
				}
				sold.Add(took(requests, reply.Verdicts))
				known = max(known, reply.Version)
				var listed int64
				for range reply.Buyers {
					listed++
				}
				if listed > stock {
					t.Errorf("%d buyers are noted for %d units", listed, stock)
				}
			}
		})
	}
	running.Wait()
	if sold.Load() != stock {
		t.Errorf("%d units sold of %d", sold.Load(), stock)
	}
	v := s.view(t, "1001")
	var held int64
	for user, units := range v.Buyers {
		held += units
		if units > 2 {
			t.Errorf("%s holds %d units, the limit is 2", user, units)
		}
	}
	if held != stock || v.Stock != 0 {
		t.Errorf("%d units noted and %d left, want %d and 0", held, v.Stock, stock)
	}
	s.holds(t, "1002", stock, map[string]int64{})
}
