package reseed_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/backend/store/storetest"
	"rushgate/lua"
)

// The DB path sells on and on: the filter is rebuilt once an interval and not
// with every order.
func TestReseedWithEveryOrder(t *testing.T) {
	w := newWorld(t)
	w.open("1", 1000)
	for i := range 10 {
		w.place("1", strconv.Itoa(i), api.PathDB)
		w.clock.Add(interval / 10)
		w.sweep()
	}
	w.reseededFor("1", reseed.DBPath) // at the first order, and not in the second after it
	w.clock.Add(interval / 10)
	w.sweep()
	w.reseededFor("1", reseed.DBPath)
}

// slowFilter takes its time to be seeded, on the test's clock.
type slowFilter struct {
	lua.Filter
	clock *storetest.Clock
	takes time.Duration
}

func (f *slowFilter) Seed(ctx context.Context, s lua.Seed) error {
	f.clock.Add(f.takes)
	return f.Filter.Seed(ctx, s)
}

// What takes 200 ms is done every four seconds: a twentieth of the time.
func TestReseedingMostOfTheTime(t *testing.T) {
	w := newWorld(t)
	w.create("1", 1000, -time.Minute)
	const takes = 200 * time.Millisecond
	w.seeder = w.newSeeder(w.store, &slowFilter{w.filter, w.clock, takes})
	start := w.clock.Now()
	for i := range 40 {
		w.place("1", strconv.Itoa(i), api.PathDB)
		w.wait(interval / 2)
		w.sweep()
	}
	reseeds, all := len(w.done), w.clock.Now().Sub(start)
	if spent := time.Duration(reseeds) * takes; reseeds < 5 || spent > all/20+takes {
		t.Errorf("%d reseeds took %v of %v, want about a twentieth", reseeds, spent, all)
	}
}

// brokenFilter does not answer.
type brokenFilter struct {
	lua.Filter
	broken bool
	views  int
}

var errBroken = errors.New("connection refused")

func (f *brokenFilter) View(ctx context.Context, item string, withBuyers bool) (lua.View, error) {
	f.views++
	if f.broken {
		return lua.View{}, errBroken
	}
	return f.Filter.View(ctx, item, withBuyers)
}

// Every purchase of the DB path asks for a look: a filter that is away is not
// looked for with each of them, and is found at the next round when it is back.
func TestLookForADeadFilterWithEveryOrder(t *testing.T) {
	w := newWorld(t)
	w.open("1", 1000)
	f := &brokenFilter{Filter: w.filter}
	w.seeder = w.newSeeder(w.store, f)
	w.sweep()
	f.broken, f.views = true, 0
	for range 50 {
		w.seeder.BypassedFilter("1")
		if err := w.seeder.Sweep(t.Context()); err != nil && !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
	if f.views != 1 {
		t.Errorf("looked %d times at once for a filter that is away, want once", f.views)
	}
	w.wait(interval)
	f.broken = false
	w.place("1", "u", api.PathDB)
	w.sweep()
	w.reseededFor("1", reseed.DBPath)
	w.agrees("1")
}

// A cancellation in a quiet sale is no drift while the filter is about to hear
// of it.
func TestCancellationTakenForDrift(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	o := w.buy("1", "u")
	w.sweeps(10)
	w.reseededFor("1")
	if _, _, err := w.store.Cancel(t.Context(), "u", number(t, o)); err != nil {
		t.Fatal(err)
	}
	w.sweep() // SQL has the unit, the filter not yet
	w.reseededFor("1")
	if changed, err := w.filter.Restore(t.Context(), "1", "u", o.BizID, 1); err != nil || !changed {
		t.Fatal(changed, err)
	}
	w.sweeps(10)
	w.reseededFor("1")
	w.agrees("1")
}

// busyFilter has something happen while it is looked at.
type busyFilter struct {
	lua.Filter
	meanwhile func(withBuyers bool)
}

func (f *busyFilter) View(ctx context.Context, item string, withBuyers bool) (lua.View, error) {
	v, err := f.Filter.View(ctx, item, withBuyers)
	if f.meanwhile != nil {
		f.meanwhile(withBuyers)
	}
	return v, err
}

// A purchase between the two halves of a look is no drift.
func TestPurchaseDuringALookTakenForDrift(t *testing.T) {
	for _, half := range []bool{false, true} {
		w := newWorld(t)
		w.open("1", 10)
		w.wait(time.Minute)
		f := &busyFilter{Filter: w.filter}
		w.seeder = w.newSeeder(w.store, f)
		happened := false
		f.meanwhile = func(withBuyers bool) {
			if withBuyers == half {
				f.meanwhile = nil
				happened = true
				w.buy("1", "u")
			}
		}
		w.sweep()
		if !happened {
			t.Fatalf("no look with buyers = %v", half)
		}
		w.reseededFor("1")
		w.sweeps(10)
		w.reseededFor("1")
		w.agrees("1")
	}
}
