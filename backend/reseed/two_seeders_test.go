package reseed_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/backend/store/storetest"
	"rushgate/lua"
)

// One cause gives one reseed, however many seeders find it at the same moment,
// and all of them come to an end.
func TestTwoSeedersAtOnce(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	seeders := []*reseed.Seeder{w.seeder}
	for range 3 { // other processes
		seeders = append(seeders, w.newSeeder(storetest.OpenFile(t, w.file, w.clock.Now), w.filter))
	}
	for range 8 {
		w.filter.Wipe()
		w.wait(interval)
		var wg sync.WaitGroup
		for _, s := range seeders {
			wg.Go(func() {
				if err := s.Sweep(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		w.reseededFor("1", reseed.Missing)
		w.agrees("1")
	}
}

// Another seeder does all its work between the two halves of a look: what it has
// put right is no cause.
func TestReseedFinishedDuringALook(t *testing.T) {
	for name, harm := range map[string]func(*world){
		"an empty filter": func(w *world) { w.filter.Wipe() },
		"a DB-path order": func(w *world) { w.place("1", "u", api.PathDB) },
		"a pause": func(w *world) {
			if err := w.store.SetPaused(t.Context(), "1", true); err != nil {
				t.Fatal(err)
			}
		},
	} {
		w := newWorld(t)
		w.open("1", 10)
		harm(w)
		f := &busyFilter{Filter: w.filter}
		f.meanwhile = func(bool) {
			f.meanwhile = nil
			w.sweep()
		}
		if err := w.newSeeder(w.store, f).Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(w.done) != 1 {
			t.Errorf("%s: reseeded for %v, want once", name, w.done)
		}
		w.agrees("1")
	}
}

// sleepy is a seeder's view of SQL and of the filter. It falls asleep at a point
// of the first reseed until the test wakes it.
type sleepy struct {
	reseed.SQL
	lua.Filter
	before string
	asleep chan struct{}
	wake   chan struct{}
	once   sync.Once
}

func (s *sleepy) at(point string) {
	if point == s.before {
		s.once.Do(func() {
			close(s.asleep)
			<-s.wake
		})
	}
}

func (s *sleepy) Snapshot(ctx context.Context, item string) (lua.Seed, error) {
	s.at("snapshot")
	return s.SQL.Snapshot(context.WithoutCancel(ctx), item)
}

func (s *sleepy) Seed(ctx context.Context, seed lua.Seed) error {
	s.at("flip")
	return s.Filter.Seed(context.WithoutCancel(ctx), seed)
}

func (s *sleepy) EndLease(ctx context.Context, item string, epoch int64) error {
	s.at("end of the lease")
	return s.SQL.EndLease(context.WithoutCancel(ctx), item, epoch)
}

// fallAsleep starts a reseed of item 1 that sleeps before a point. wake ends it,
// and returns what it came to.
func (w *world) fallAsleep(before string) (wake func() (epoch int64, err error)) {
	s := &sleepy{SQL: w.store, Filter: w.filter, before: before, asleep: make(chan struct{}), wake: make(chan struct{})}
	sleeper := w.newSeeder(s, s)
	var epoch int64
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		epoch, err = sleeper.Reseed(context.Background(), "1", reseed.Command)
	}()
	<-s.asleep
	return func() (int64, error) {
		close(s.wake)
		<-done
		return epoch, err
	}
}

// A backend is stopped in the middle of a reseed and wakes up when its lease is
// long gone and the sale has gone on.
func TestSeederWakesUpLate(t *testing.T) {
	for _, point := range []string{"snapshot", "flip", "end of the lease"} {
		w := newWorld(t)
		w.open("1", 10)
		wake := w.fallAsleep(point)
		w.reseededFor("1", map[string][]reseed.Cause{"end of the lease": {reseed.Command}}[point]...)
		w.wait(lease + time.Millisecond)
		if point == "end of the lease" { // the filter is right; only the lease is left, and ends by itself
			if _, err := w.seeder.Reseed(t.Context(), "1", reseed.Command); err != nil {
				t.Fatal(err)
			}
		} else {
			w.sweep()
			w.reseededFor("1", reseed.Old)
		}
		w.agrees("1")
		w.buy("1", "u")
		want := w.view("1")
		if _, err := wake(); err != nil {
			t.Errorf("woken before the %s: %v", point, err)
		}
		if got := w.view("1"); got.Epoch != want.Epoch || got.Stock != want.Stock || len(got.Buyers) != 1 {
			t.Errorf("woken before the %s, it changed the filter from %+v to %+v", point, want, got)
		}
		w.agrees("1")
	}
}

// It wakes up while its successor is at work, whose lease is not its own.
func TestSeederWakesUpAndEndsAnothersLease(t *testing.T) {
	for _, point := range []string{"snapshot", "flip", "end of the lease"} {
		w := newWorld(t)
		w.open("1", 10)
		wake := w.fallAsleep(point)
		w.wait(lease + time.Millisecond)
		successor := w.fallAsleep("flip")
		held := w.sale("1").ReseedUntil
		if held <= w.now() {
			t.Fatal("the successor has no lease")
		}
		if _, err := wake(); err != nil {
			t.Errorf("woken before the %s: %v", point, err)
		}
		if got := w.sale("1").ReseedUntil; got != held {
			t.Errorf("woken before the %s, it changed the successor's lease from %d to %d", point, held, got)
		}
		if epoch, err := successor(); epoch == 0 || err != nil {
			t.Errorf("the successor came to %d, %v", epoch, err)
		}
		w.agrees("1")
	}
}

// Pausing ends the epoch that is being seeded, and with it the lease: the sale
// stands still in the filter within a second, and not when the lease is over.
func TestPauseDuringAReseed(t *testing.T) {
	for _, point := range []string{"snapshot", "flip", "end of the lease"} {
		w := newWorld(t)
		w.open("1", 10)
		wake := w.fallAsleep(point)
		if err := w.store.SetPaused(t.Context(), "1", true); err != nil {
			t.Fatal(err)
		}
		if _, err := wake(); err != nil {
			t.Errorf("before the %s: %v", point, err)
		}
		w.sweeps(1)
		w.agrees("1")
		if got := w.admit("1", "u"); got != lua.Paused {
			t.Errorf("paused before the %s: the filter says %v", point, got)
		}
	}
}
