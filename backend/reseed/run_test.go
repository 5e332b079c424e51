package reseed_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/lua"
)

// tracing tells of every view, and lets the looker go on when that is heard.
type tracing struct {
	lua.Filter
	viewed chan string
}

func (f *tracing) View(ctx context.Context, item string, withBuyers bool) (lua.View, error) {
	v, err := f.Filter.View(ctx, item, withBuyers)
	select {
	case f.viewed <- item:
	case <-ctx.Done():
	}
	return v, err
}

// seldom is longer than the test takes, and shorter than the sale.
const seldom = 30 * time.Minute

// running is a seeder whose rounds are so far apart that it looks only when asked.
func (w *world) running(filter lua.Filter, reseeded func(string, reseed.Cause)) *reseed.Seeder {
	w.t.Helper()
	s := reseed.New(reseed.Options{
		SQL: w.store, Filter: filter, PreheatLead: lead, RepairAfter: repairAfter, Interval: seldom,
		Log: slog.New(slog.DiscardHandler), Now: w.clock.Now, Reseeded: reseeded,
	})
	return s
}

func (w *world) start(s *reseed.Seeder) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	w.t.Cleanup(func() { cancel(); wg.Wait() })
}

// A purchase of the DB path makes the seeder look at the filter now, and not at
// the next round.
func TestLookWaitsForTheNextRound(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	causes := make(chan reseed.Cause, 1)
	s := w.running(w.filter, func(_ string, c reseed.Cause) { causes <- c })
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wait(seldom)
	w.start(s)
	w.place("1", "u", api.PathDB)
	s.BypassedFilter("1")
	s.BypassedFilter("no such sale")
	if got := <-causes; got != reseed.DBPath {
		t.Errorf("reseeded for %q, want db_path", got)
	}
}

// Items that nobody sells take no memory and no look.
func TestLookAtAnItemNobodySells(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	f := &tracing{w.filter, make(chan string, 16)}
	s := w.running(f, func(string, reseed.Cause) {})
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(f.viewed) > 0 {
		<-f.viewed
	}
	w.start(s)
	s.SoldOutBehindFilter("nothing")
	s.SoldOutBehindFilter("1")
	if got := <-f.viewed; got != "1" {
		t.Errorf("looked at %q", got)
	}
}
