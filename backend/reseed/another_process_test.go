package reseed_test

import (
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/backend/store/storetest"
)

// neighbour is the seeder of another process on the same database.
func (w *world) neighbour() *reseed.Seeder {
	w.t.Helper()
	s := w.newSeeder(storetest.OpenFile(w.t, w.file, w.clock.Now), w.filter)
	sweepBy(w.t, s)
	return s
}

func sweepBy(t *testing.T, s *reseed.Seeder) {
	t.Helper()
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Two processes sell beside the filter, and each hears of the other's orders: that
// is still one reseed a second, and whoever had to wait has not forgotten.
func TestReseedByEachProcess(t *testing.T) {
	for cause, harm := range map[reseed.Cause]func(w *world, s *reseed.Seeder, user string){
		reseed.DBPath: func(w *world, _ *reseed.Seeder, user string) { w.place("1", user, api.PathDB) },
		reseed.SoldOut: func(w *world, s *reseed.Seeder, user string) {
			w.place("1", user, api.PathQueue) // of which the filter does not hear
			s.SoldOutBehindFilter("1")
		},
	} {
		t.Run(string(cause), func(t *testing.T) {
			w := newWorld(t)
			w.open("1", 10)
			other := w.neighbour()
			harm(w, w.seeder, "a")
			w.sweep()
			w.reseededFor("1", cause)
			harm(w, other, "b")
			sweepBy(t, other)
			w.wait(interval - time.Millisecond)
			sweepBy(t, other)
			w.reseededFor("1")
			w.wait(time.Millisecond)
			sweepBy(t, other)
			w.reseededFor("1", cause)
			w.agrees("1")
		})
	}
}

// A filter that knows nothing sells nothing: that waits for nobody's second.
func TestEmptyFilterWaitsForAnotherProcess(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	other := w.neighbour()
	w.place("1", "a", api.PathDB)
	w.sweep()
	w.reseededFor("1", reseed.DBPath)
	w.filter.Wipe()
	sweepBy(t, other)
	w.reseededFor("1", reseed.Missing)
	w.agrees("1")
}

// SQL failed over, lost a raise, and its new clock is behind. The epoch that makes
// the filter right overtakes the filter's all the same.
func TestFilterAheadOfSQLsClock(t *testing.T) {
	for name, raise := range map[string]func(*testing.T, *reseed.Seeder){
		"at the next look": sweepBy,
		"by command": func(t *testing.T, s *reseed.Seeder) {
			t.Helper()
			if epoch, err := s.Reseed(t.Context(), "1", reseed.Ahead); epoch == 0 || err != nil {
				t.Errorf("reseeded to %d, %v", epoch, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.open("1", 10)
			w.buy("1", "u")
			before := w.view("1").Epoch
			w.damage("UPDATE sales SET epoch = epoch - 40000")
			w.clock.Add(-30 * time.Second)
			raise(t, w.newSeeder(w.store, w.filter))
			w.reseededFor("1", reseed.Ahead)
			if v := w.view("1"); v.Epoch <= before || v.Epoch != w.sale("1").Epoch {
				t.Errorf("the filter is at %d, SQL at %d, and it was at %d", v.Epoch, w.sale("1").Epoch, before)
			}
			w.agrees("1")
			w.buy("1", "v")
		})
	}
}
