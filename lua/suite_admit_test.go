package lua

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testRepeatClicks(t *testing.T, s subject) {
	s.open(t, "1001", 100)
	clicks := make([]Request, 1000)
	for i := range clicks {
		clicks[i] = ask("eager", "click-"+strconv.Itoa(i))
	}
	reply := s.admit(t, "1001", clicks...)
	if got := took(clicks, reply.Verdicts); got != 1 || reply.Verdicts[0] != Admitted {
		t.Errorf("1,000 clicks took %d units, want the first to take 1", got)
	}
	for i, v := range reply.Verdicts[1:] {
		if v != Duplicate {
			t.Fatalf("click %d was told %v, want duplicate", i+1, v)
		}
	}
	s.holds(t, "1001", 99, map[string]int64{"eager": 1})

	others := crowd(150)
	if got := took(others, s.admit(t, "1001", others...).Verdicts); got != 99 {
		t.Errorf("the others got %d units, want the 99 that are left", got)
	}
}

func testOneKeyTwice(t *testing.T, s subject) {
	s.open(t, "1001", 10, perUser(5))
	verdicts(t, s.admit(t, "1001",
		ask("ann", "k1"), ask("ann", "k1"), // in one batch
		askFor(5, "ann", "k1"), // with another quantity, one past the limit
		ask("bob", "k1"),       // a key is its user's own
	), Admitted, Again, Again, Admitted)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("ann", "k2")), Again, Admitted)
	s.holds(t, "1001", 7, map[string]int64{"ann": 2, "bob": 1})
}

func testMissingState(t *testing.T, s subject) {
	ctx := t.Context()
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)

	stale := func(when string, b Batch) {
		t.Helper()
		b.Requests = []Request{ask("ann", "k1"), ask("bob", "k2")}
		reply := s.batch(t, b)
		want := Reply{Verdicts: []Verdict{Stale, Stale}, Now: reply.Now}
		if diff := cmp.Diff(want, reply); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	stale("an item never seeded", Batch{Item: "9999", Epoch: 1})
	stale("no epoch named of an item never seeded", Batch{Item: "9999"})
	stale("no epoch named", Batch{Item: "1001"})
	stale("an earlier epoch", Batch{Item: "1001", Epoch: 0})
	stale("a later epoch", Batch{Item: "1001", Epoch: 2})

	s.wipe()
	stale("after a restart without data", Batch{Item: "1001", Epoch: 1})
	if s.restore(t, "1001", "ann", "k1", 1) {
		t.Error("a restore found a buyer after everything was lost")
	}
	got, err := s.View(ctx, "1001", true)
	if diff := cmp.Diff(View{Stale: true}, got); err != nil || diff != "" {
		t.Errorf("View of nothing: %v (-want +got):\n%s", err, diff)
	}

	s.open(t, "1001", 9, epoch(2), buyers(map[string]Note{"ann": {Qty: 1, BizIDs: []string{"k1"}}}))
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{ask("ann", "k1"), ask("bob", "k2")}}), Again, Admitted)
}

func testFailover(t *testing.T, s subject) {
	s.open(t, "1001", 2)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
	behind := s.copy()
	verdicts(t, s.admit(t, "1001", ask("bob", "k2")), Admitted) // the copy doesn't have it

	for _, when := range []string{"failed over", "failed over and back"} {
		behind()
		verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("cleo", "k3")), Stale, Stale)
		if s.restore(t, "1001", "ann", "k1", 1) {
			t.Errorf("%s: a restore was made on a copy that is behind", when)
		}
		if v := s.view(t, "1001"); !v.Stale || v.Epoch != 1 {
			t.Errorf("%s: View = %+v, want epoch 1, stale", when, v)
		}
	}
	if err := s.Seed(t.Context(), Seed{Item: "1001", Epoch: 1, PerUser: 1}); !errors.Is(err, ErrOlder) {
		t.Errorf("Seed of the copy's own epoch: %v, want ErrOlder", err)
	}
	s.open(t, "1001", 0, epoch(2), buyers(map[string]Note{"ann": {1, []string{"k1"}}, "bob": {1, []string{"k2"}}}))
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{
		ask("ann", "k1"), ask("bob", "k2"), ask("cleo", "k3"),
	}}), Again, Again, SoldOut)
}

func testItemsApart(t *testing.T, s subject) {
	s.open(t, "1001", 1, perUser(3))
	s.open(t, "1002", 5, perUser(3))
	s.open(t, "1003", 7, perUser(3))
	verdicts(t, s.admit(t, "1002", ask("ann", "k1")), Admitted)
	before := s.view(t, "1002")

	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("ann", "k2"), askFor(2, "bob", "k3")), Admitted, SoldOut, SoldOut)
	s.restore(t, "1001", "ann", "k1", 1)
	s.restore(t, "1001", "ann", "k1", 1)
	s.open(t, "1001", 50, epoch(2), paused)

	if diff := cmp.Diff(before, s.view(t, "1002")); diff != "" {
		t.Errorf("1002 changed by what happened to 1001 (-before +after):\n%s", diff)
	}
	s.holds(t, "1003", 7, map[string]int64{})
}

func testBeforeStart(t *testing.T, s subject) {
	now := s.now()
	s.open(t, "1001", 10, window(now.Add(time.Hour), now.Add(2*time.Hour)),
		buyers(map[string]Note{"ann": {1, []string{"k1"}}}))
	reply := s.admit(t, "1001", ask("bob", "k2"), ask("ann", "k3"), ask("ann", "k1"), askFor(99, "cleo", "k4"))
	verdicts(t, reply, NotStarted, NotStarted, Again, NotStarted)
	if reply.Left != 10 {
		t.Errorf("%d units left before the start, want 10", reply.Left)
	}
	s.holds(t, "1001", 10, map[string]int64{"ann": 1})
}

func testAfterEnd(t *testing.T, s subject) {
	now := s.now()
	s.open(t, "1001", 10, window(now.Add(-time.Hour), now.Add(-time.Second)),
		buyers(map[string]Note{"ann": {1, []string{"k1"}}}))
	verdicts(t, s.admit(t, "1001", ask("bob", "k2"), ask("ann", "k1"), ask("ann", "k3")), Ended, Again, Ended)
	s.holds(t, "1001", 10, map[string]int64{"ann": 1})
}

func testPaused(t *testing.T, s subject) {
	s.open(t, "1001", 10, paused, buyers(map[string]Note{"ann": {1, []string{"k1"}}}))
	verdicts(t, s.admit(t, "1001", ask("bob", "k2"), ask("ann", "k1"), ask("ann", "k3")), Paused, Again, Paused)
	s.holds(t, "1001", 10, map[string]int64{"ann": 1})
}

func testQuantityCounts(t *testing.T, s subject) {
	s.open(t, "1001", 1000)
	verdicts(t, s.admit(t, "1001", askFor(100, "ann", "k1"), askFor(math.MaxInt, "ann", "k2"), ask("ann", "k3"), ask("ann", "k4")),
		Duplicate, Duplicate, Admitted, Duplicate)
	verdicts(t, s.admit(t, "1001", askFor(math.MaxInt, "ann", "k5")), Duplicate)
	s.holds(t, "1001", 999, map[string]int64{"ann": 1})

	s.open(t, "1002", 1000, perUser(3))
	verdicts(t, s.admit(t, "1002", askFor(2, "ann", "k1"), askFor(2, "ann", "k2"), ask("ann", "k3"), ask("ann", "k4")),
		Admitted, Duplicate, Admitted, Duplicate)
	s.holds(t, "1002", 997, map[string]int64{"ann": 3})

	// per_user was lowered since: the buyer holds more than the limit.
	s.open(t, "1003", 1000, perUser(2), buyers(map[string]Note{"ann": {5, []string{"k1"}}}))
	verdicts(t, s.admit(t, "1003", ask("ann", "k2"), askFor(2, "bob", "k3")), Duplicate, Admitted)
}

func testSmallerStillFits(t *testing.T, s subject) {
	s.open(t, "1001", 3, perUser(5))
	reply := s.admit(t, "1001", askFor(4, "ann", "k1"), askFor(2, "bob", "k2"), askFor(2, "cleo", "k3"), ask("dora", "k4"), ask("eve", "k5"))
	verdicts(t, reply, SoldOut, Admitted, SoldOut, Admitted, SoldOut)
	if reply.Left != 0 {
		t.Errorf("%d units left, want 0", reply.Left)
	}
}

func testBadQuantity(t *testing.T, s subject) {
	s.open(t, "1001", 10)
	for _, qty := range []int{0, -1, math.MinInt} {
		_, err := s.Admit(t.Context(), Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1"), askFor(qty, "bob", "k2")}})
		if err == nil {
			t.Errorf("Admit for %d units: no error", qty)
		}
		if _, err := s.Restore(t.Context(), "1001", "ann", "k1", int64(qty)); err == nil {
			t.Errorf("Restore of %d units: no error", qty)
		}
	}
	s.holds(t, "1001", 10, map[string]int64{})
}

func testGivenUp(t *testing.T, s subject) {
	s.open(t, "1001", 10)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, admitErr := s.Admit(over, Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1")}})
	_, restoreErr := s.Restore(over, "1001", "ann", "k1", 1)
	_, viewErr := s.View(over, "1001", true)
	seedErr := s.Seed(over, Seed{Item: "1001", Epoch: 2, PerUser: 1, Stock: 5})
	for call, err := range map[string]error{"Admit": admitErr, "Restore": restoreErr, "View": viewErr, "Seed": seedErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", call, err)
		}
	}
	s.holds(t, "1001", 10, map[string]int64{})
}

func testBuyersOnlyWhenNews(t *testing.T, s subject) {
	s.open(t, "1001", 2, perUser(2))
	set := func(users ...string) map[string]struct{} {
		m := make(map[string]struct{})
		for _, u := range users {
			m[u] = struct{}{}
		}
		return m
	}
	send := func(version int64, want map[string]struct{}, r ...Request) int64 {
		t.Helper()
		reply := s.batch(t, Batch{Item: "1001", Epoch: 1, Version: version, Requests: r})
		if diff := cmp.Diff(want, reply.Buyers); diff != "" {
			t.Errorf("buyers told (-want +got):\n%s", diff)
		}
		if v := s.view(t, "1001").Version; v != reply.Version {
			t.Errorf("the reply says version %d, View says %d", reply.Version, v)
		}
		return reply.Version
	}
	v0 := send(0, nil, askFor(3, "ann", "k0")) // duplicate: no set
	if v0 == 0 {
		t.Error("version 0, which callers send for none known")
	}
	v1 := send(0, nil, ask("ann", "k1")) // admitted: no set
	v2 := send(v1, set("ann", "bob"), ask("bob", "k2"), ask("cleo", "k3"))
	if v0 >= v1 || v1 >= v2 {
		t.Errorf("versions %d, %d, %d don't rise with the buyers", v0, v1, v2)
	}
	if v := send(v2, nil, ask("cleo", "k3"), ask("ann", "k1")); v != v2 {
		t.Errorf("version went from %d to %d without a change of the buyers", v2, v)
	}
	send(v1, set("ann", "bob"), ask("cleo", "k3"))
	send(0, set("ann", "bob"), ask("cleo", "k3"))

	s.restore(t, "1001", "ann", "k1", 1)
	v3 := send(v2, set("bob"), askFor(2, "cleo", "k4"))
	if v3 <= v2 {
		t.Errorf("version %d after a restore, want more than %d", v3, v2)
	}
	s.open(t, "1001", 0, epoch(2))
	reply := s.batch(t, Batch{Item: "1001", Epoch: 2, Version: v3, Requests: []Request{ask("ann", "k5")}})
	if diff := cmp.Diff(set(), reply.Buyers); diff != "" || reply.Version <= v3 {
		t.Errorf("version %d after %d, buyers of the new epoch (-want +got):\n%s", reply.Version, v3, diff)
	}
}
