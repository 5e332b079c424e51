package reseed_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
)

func TestReseedOfOneItemTouchesAnother(t *testing.T) {
	w := newWorld(t)
	w.open("other", 10)
	w.open("1", 10)
	w.buy("other", "u")
	w.buy("1", "u")
	view, sale := w.view("other"), w.sale("other")
	w.place("1", "v", api.PathDB)
	w.sweeps(1)
	w.reseededFor("1", reseed.DBPath)
	w.reseededFor("other")
	sale.Now = w.sale("other").Now
	if diff := cmp.Diff(sale, w.sale("other")); diff != "" {
		t.Errorf("the other sale changed: %s", diff)
	}
	if diff := cmp.Diff(view, w.view("other")); diff != "" {
		t.Errorf("the other's filter changed: %s", diff)
	}
}

// A sale that nobody can buy from any more is left alone, also when somebody
// asks for a look before the next round.
func TestEndedSaleReseeded(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	f := &tracing{w.filter, make(chan string, 16)}
	s := w.running(f, func(_ string, c reseed.Cause) { t.Errorf("reseeded for %q", c) })
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(f.viewed) > 0 {
		<-f.viewed
	}
	w.filter.Wipe()
	w.clock.Add(time.Hour)
	before := w.sale("1")
	w.start(s)
	s.BypassedFilter("1")
	<-f.viewed
	if err := s.Sweep(t.Context()); err != nil { // waits until that look is over
		t.Fatal(err)
	}
	w.reseededFor("1")
	if got := w.sale("1"); got.Epoch != before.Epoch {
		t.Errorf("the epoch of an ended sale went from %d to %d", before.Epoch, got.Epoch)
	}
}
