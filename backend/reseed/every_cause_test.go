package reseed_test

import (
	"errors"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/lua"
)

func TestSaleAddedWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.sweep()
	w.create("new", 10, -time.Minute)
	w.sweeps(1)
	w.reseededFor("new", reseed.Missing)
	w.agrees("new")
	w.buy("new", "u")
}

func TestPreheat(t *testing.T) {
	w := newWorld(t)
	w.create("far", 10, lead+2*interval)
	w.create("by command", 10, 10*lead)
	w.sweep()
	if v := w.view("far"); v.Epoch != 0 || len(w.done) != 0 {
		t.Errorf("seeded before its time: %+v, %v", v, w.done)
	}
	w.sweeps(1)
	w.reseededFor("far")
	w.sweeps(1) // the lead begins
	w.reseededFor("far", reseed.Preheat)
	w.agrees("far")
	w.sweeps(5)
	w.reseededFor("far")
	if got := w.admit("far", "u"); got != lua.NotStarted {
		t.Errorf("before the start the filter says %v", got)
	}

	w.reseededFor("by command")
	if _, err := w.store.Preheat(t.Context(), "by command"); err != nil {
		t.Fatal(err)
	}
	w.sweeps(1)
	w.reseededFor("by command", reseed.Preheat)
	w.agrees("by command")
}

func TestFilterRestartsEmpty(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	w.buy("1", "u")
	w.filter.Wipe()
	if got := w.admit("1", "v"); got != lua.Stale {
		t.Errorf("an empty filter says %v, want stale", got)
	}
	w.sweeps(1)
	w.reseededFor("1", reseed.Missing)
	w.agrees("1")
	if got := w.admit("1", "u"); got != lua.Again {
		t.Errorf("the buyer's repeat is %v, want again", got)
	}
}

func TestFilterFailsOverToAnOldCopy(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	old := w.filter.Snapshot()
	w.buy("1", "u")
	w.filter.Load(old)
	w.sweeps(1)
	w.reseededFor("1", reseed.Missing)
	w.agrees("1")
}

func TestPausedAndResumed(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	before := w.ticket("1", "u", api.PathRedis)
	for _, paused := range []bool{true, false} {
		if err := w.store.SetPaused(t.Context(), "1", paused); err != nil {
			t.Fatal(err)
		}
		if got := w.admit("1", "u"); got != lua.Stale {
			t.Errorf("before the filter knows: %v, want stale", got)
		}
		w.sweeps(1)
		w.reseededFor("1", reseed.Old)
		w.agrees("1")
		want := map[bool]lua.Verdict{true: lua.Paused, false: lua.Admitted}[paused]
		if got := w.admit("1", "u"); got != want {
			t.Errorf("paused %v: the filter says %v, want %v", paused, got, want)
		}
	}
	if o, err := w.placer.Place(t.Context(), before); err == nil {
		t.Errorf("a ticket from before the pause became %+v", o)
	}
}

// Somebody raised the epoch and was never heard of again.
func TestSeederDies(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	w.buy("1", "u")
	dead, ok, err := w.store.RaiseEpoch(t.Context(), "1", w.sale("1").Epoch, 0, lease.Milliseconds())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got := w.admit("1", "v"); got != lua.Stale {
		t.Errorf("after the raise the filter says %v, want stale", got)
	}
	w.sweeps(int(lease / interval)) // the lease holds up to and including its last millisecond
	w.reseededFor("1")
	if _, ok, err := w.store.RaiseEpoch(t.Context(), "1", dead, 0, lease.Milliseconds()); ok || err != nil {
		t.Errorf("raised under another's lease: %v, %v", ok, err)
	}
	w.sweeps(1)
	w.reseededFor("1", reseed.Old)
	w.agrees("1")
	if now := w.sale("1").Epoch; now <= dead {
		t.Errorf("epoch %d after the dead seeder's %d", now, dead)
	}
}

func TestSQLLosesARaise(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	w.damage("UPDATE sales SET epoch = epoch - 500")
	w.sweeps(1)
	w.reseededFor("1", reseed.Ahead)
	w.agrees("1")
	w.buy("1", "u")
}

func TestSoldBesideTheFilter(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	for _, user := range []string{"a", "b", "c"} {
		w.place("1", user, api.PathDB)
	}
	w.sweeps(1)
	w.reseededFor("1", reseed.DBPath)
	w.agrees("1")
	if got := w.admit("1", "a"); got != lua.Again {
		t.Errorf("a buyer of the DB path is %v to the filter, want again", got)
	}
	w.sweeps(10)
	w.reseededFor("1")
}

// The filter admits more than SQL has, and says so until it is told.
func TestSoldOutBehindTheFilter(t *testing.T) {
	w := newWorld(t)
	w.open("1", 3)
	for _, user := range []string{"a", "b", "c"} {
		w.place("1", user, api.PathQueue) // of which the filter does not hear
	}
	if v := w.admit("1", "d"); v != lua.Admitted {
		t.Fatal(v)
	}
	if _, err := w.placer.Place(t.Context(), w.ticket("1", "d", api.PathRedis)); err == nil {
		t.Fatal("sold four of three")
	}
	w.sweeps(1) // the sale is not quiet
	w.reseededFor("1", reseed.SoldOut)
	w.agrees("1")
}

// A refusal that no look could answer is not forgotten.
func TestRefusalForgottenWhileTheFilterIsAway(t *testing.T) {
	w := newWorld(t)
	w.open("1", 3)
	w.place("1", "a", api.PathQueue)
	f := &brokenFilter{Filter: w.filter, broken: true}
	s := w.newSeeder(w.store, f)
	if err := s.Sweep(t.Context()); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	s.SoldOutBehindFilter("1")
	w.wait(interval)
	if err := s.Sweep(t.Context()); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	f.broken = false
	w.wait(interval)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.reseededFor("1", reseed.SoldOut)
}

// What SQL refused is old news once the filter has nothing left either: units
// that come back later are no reason.
func TestOldRefusalReseedsMuchLater(t *testing.T) {
	w := newWorld(t)
	w.open("1", 1)
	o := w.buy("1", "u")
	w.seeder.SoldOutBehindFilter("1")
	w.sweeps(1)
	w.reseededFor("1")
	if _, _, err := w.store.Cancel(t.Context(), "u", number(t, o)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.filter.Restore(t.Context(), "1", "u", o.BizID, 1); err != nil {
		t.Fatal(err)
	}
	w.sweeps(10)
	w.reseededFor("1")
	w.agrees("1")
}

// A buyer who was admitted and gave up: the unit is on offer again once the sale
// is quiet, and not a moment before.
func TestUnitsStrandedInTheFilter(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	if v := w.admit("1", "gone"); v != lua.Admitted {
		t.Fatal(v)
	}
	w.clock.Add(repairAfter - time.Millisecond)
	w.sweep()
	w.reseededFor("1")
	w.clock.Add(time.Millisecond)
	w.sweep()
	w.reseededFor("1", reseed.Drift)
	w.agrees("1")
	if v := w.view("1"); v.Stock != 10 {
		t.Errorf("the filter has %d, want 10", v.Stock)
	}
}

// The units are as many as in SQL, but another buyer has them.
func TestBuyersDrift(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	if v := w.admit("1", "ghost"); v != lua.Admitted {
		t.Fatal(v)
	}
	w.place("1", "real", api.PathQueue)
	if f, s := w.view("1").Stock, w.sale("1").Num; f != s {
		t.Fatalf("%d units in the filter and %d in SQL: this is to be about buyers only", f, s)
	}
	w.sweeps(int(repairAfter / interval))
	w.reseededFor("1", reseed.Drift)
	w.agrees("1")
	if got := w.admit("1", "real"); got != lua.Again {
		t.Errorf("the real buyer is %v to the filter, want again", got)
	}
}
