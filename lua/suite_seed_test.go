package lua

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

func testRestoreTwice(t *testing.T, s subject) {
	s.open(t, "1001", 10, perUser(5))
	verdicts(t, s.admit(t, "1001", askFor(2, "ann", "k1"), askFor(3, "ann", "k2")), Admitted, Admitted)
	for i, want := range []bool{true, false, false} {
		if got := s.restore(t, "1001", "ann", "k1", 2); got != want {
			t.Errorf("restore %d changed something: %t, want %t", i, got, want)
		}
		s.holds(t, "1001", 7, map[string]int64{"ann": 3})
	}
	s.restore(t, "1001", "ann", "k2", 3)
	s.holds(t, "1001", 10, map[string]int64{})
}

func testRestoreUnknown(t *testing.T, s subject) {
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
	before := s.view(t, "1001").Version
	for _, r := range []struct{ item, user, bizID string }{
		{"1001", "ann", "k2"}, // another attempt of hers
		{"1001", "bob", "k1"}, // another user's key
		{"1002", "ann", "k1"}, // another item
	} {
		if s.restore(t, r.item, r.user, r.bizID, 1) {
			t.Errorf("restore of %+v changed something", r)
		}
	}
	s.holds(t, "1001", 9, map[string]int64{"ann": 1})
	if after := s.view(t, "1001").Version; after != before {
		t.Errorf("version went from %d to %d though nothing changed", before, after)
	}
}

func testRestoreAfterReseed(t *testing.T, s subject) {
	s.open(t, "1001", 10, perUser(5))
	verdicts(t, s.admit(t, "1001", askFor(2, "ann", "k1"), ask("bob", "k2")), Admitted, Admitted)

	// SQL knew of Ann's order when the new epoch was read, and not of Bob's.
	s.open(t, "1001", 8, perUser(5), epoch(2), buyers(map[string]Note{"ann": {2, []string{"k1"}}}))
	if s.restore(t, "1001", "bob", "k2", 1) {
		t.Error("a restore gave units back that the new epoch has on offer already")
	}
	if !s.restore(t, "1001", "ann", "k1", 2) {
		t.Error("a restore under the new epoch did nothing")
	}
	s.holds(t, "1001", 10, map[string]int64{})
}

func testRestoreTooMuch(t *testing.T, s subject) {
	// The attempts of a seed come without their quantities.
	s.open(t, "1001", 0, perUser(9), buyers(map[string]Note{"ann": {3, []string{"k1", "k2", "k2"}}}))
	s.restore(t, "1001", "ann", "k1", 2)
	s.holds(t, "1001", 2, map[string]int64{"ann": 1})
	verdicts(t, s.admit(t, "1001", ask("ann", "k3")), Admitted)
	s.restore(t, "1001", "ann", "k2", math.MaxInt64) // not k3's unit, which is known to be its own
	s.holds(t, "1001", 2, map[string]int64{"ann": 1})
	if s.restore(t, "1001", "ann", "k2", 1) {
		t.Error("an attempt that a seed named twice was given back twice")
	}

	// Where the filter admitted the attempt, it knows better than the caller.
	s.restore(t, "1001", "ann", "k3", 100)
	s.holds(t, "1001", 3, map[string]int64{})
}

func testLimitComesBack(t *testing.T, s subject) {
	s.open(t, "1001", 1)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("ann", "k2")), Admitted, Duplicate)
	s.restore(t, "1001", "ann", "k1", 1)
	verdicts(t, s.admit(t, "1001", ask("ann", "k2"), ask("bob", "k3")), Admitted, SoldOut)
}

func testSeedForwardOnly(t *testing.T, s subject) {
	seed := s.open(t, "1001", 10, epoch(5))
	reply := s.batch(t, Batch{Item: "1001", Epoch: 5, Requests: []Request{ask("ann", "k1")}})
	verdicts(t, reply, Admitted)
	for _, e := range []int64{5, 4, 1} {
		seed.Epoch, seed.Stock = e, 500
		if err := s.Seed(t.Context(), seed); !errors.Is(err, ErrOlder) {
			t.Errorf("Seed of epoch %d after 5: %v, want ErrOlder", e, err)
		}
	}
	s.holds(t, "1001", 9, map[string]int64{"ann": 1})
	if v := s.view(t, "1001"); v.Epoch != 5 || v.Version != reply.Version || v.AdmittedAt != reply.Now {
		t.Errorf("View = %+v after refused seeds, want epoch 5, version %d, admitted at %d", v, reply.Version, reply.Now)
	}
}

func testSeedReplaces(t *testing.T, s subject) {
	s.open(t, "1001", 10, paused, buyers(map[string]Note{"ann": {1, []string{"k1"}}}))
	given := map[string]Note{"bob": {2, []string{"k2", "k3"}}}
	s.open(t, "1001", 4, epoch(2), perUser(3), buyers(given))

	// What the caller does with its seed afterwards is its own affair.
	given["bob"].BizIDs[0] = "k9"
	given["cleo"] = Note{Qty: 1}

	s.holds(t, "1001", 4, map[string]int64{"bob": 2})
	if v := s.view(t, "1001"); v.Epoch != 2 || v.AdmittedAt != 0 {
		t.Errorf("View = %+v, want epoch 2 and no admission", v)
	}
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{
		ask("ann", "k1"), ask("bob", "k2"), ask("bob", "k9"), ask("bob", "k4"), askFor(3, "cleo", "k5"),
	}}), Admitted, Again, Admitted, Duplicate, SoldOut)
	if v, err := s.View(t.Context(), "1001", false); err != nil || v.Buyers != nil || v.Stock != 2 {
		t.Errorf("View without buyers = %+v, %v", v, err)
	}
}

func testBadSeed(t *testing.T, s subject) {
	endsAt := s.open(t, "1001", 10).EndsAt
	for name, bad := range map[string]func(*Seed){
		"no epoch":       epoch(0),
		"negative epoch": epoch(-7),
		"no limit":       perUser(0),
		"negative stock": func(s *Seed) { s.Stock = -1 },
		"negative units": buyers(map[string]Note{"ann": {Qty: -1}}),
	} {
		seed := Seed{Item: "1001", Epoch: 2, EndsAt: endsAt, PerUser: 1, Stock: 5}
		bad(&seed)
		if err := s.Seed(t.Context(), seed); err == nil || errors.Is(err, ErrOlder) {
			t.Errorf("%s: error %v, want one that says so", name, err)
		}
	}
	s.holds(t, "1001", 10, map[string]int64{})

	// A buyer of whom nothing is left to say is none.
	s.open(t, "1001", 5, epoch(2), buyers(map[string]Note{"ann": {}}))
	s.holds(t, "1001", 5, map[string]int64{})
}

func testSeedersRace(t *testing.T, s subject) {
	endsAt := s.open(t, "1001", 10).EndsAt
	var seeders sync.WaitGroup
	var won, stock atomic.Int64
	for i := range int64(8) {
		seeders.Go(func() {
			seed := Seed{Item: "1001", Epoch: 2, EndsAt: endsAt, PerUser: 1, Stock: 100 + i}
			switch err := s.Seed(t.Context(), seed); {
			case err == nil:
				won.Add(1)
				stock.Store(seed.Stock)
			case !errors.Is(err, ErrOlder):
				t.Errorf("Seed: %v", err)
			}
		})
	}
	seeders.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d seeders opened the epoch, want 1", won.Load())
	}
	s.holds(t, "1001", stock.Load(), map[string]int64{})
}
