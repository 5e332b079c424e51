package reseed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rushgate/backend/reseed"
	"rushgate/lua"
)

// deaf is a filter that answers nobody.
type deaf struct{ lua.Filter }

func (deaf) View(context.Context, string, bool) (lua.View, error) {
	return lua.View{}, errors.New("no answer")
}

// A purchase on its way is a difference between the filter and SQL, and no fault.
func TestAuditOfABusySaleCriesWolf(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	const quiet = repairAfter + time.Second
	live := func(filter lua.Filter) (findings int, unseen string) {
		t.Helper()
		r, err := reseed.AuditLive(t.Context(), w.store, filter, "", quiet)
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Findings), strings.Join(r.NotShown, "; ")
	}
	if n, unseen := live(w.filter); n != 0 || strings.Contains(unseen, "I6") {
		t.Errorf("of a clean system: %d findings, not shown: %s", n, unseen)
	}
	w.admit("1", "on the way")
	if n, unseen := live(w.filter); n != 0 || !strings.Contains(unseen, "I6 of 1") || !strings.Contains(unseen, "quiet") {
		t.Errorf("while a purchase is on its way: %d findings, not shown: %s", n, unseen)
	}
	w.clock.Add(quiet)
	if n, unseen := live(w.filter); n != 1 || strings.Contains(unseen, "I6") {
		t.Errorf("of a unit stranded in the filter: %d findings, not shown: %s", n, unseen)
	}
	if n, unseen := live(deaf{w.filter}); n != 0 || !strings.Contains(unseen, "no answer") {
		t.Errorf("of a filter that does not answer: %d findings, not shown: %s", n, unseen)
	}
	if n, unseen := live(nil); n != 0 || !strings.Contains(unseen, "memory mode") {
		t.Errorf("without a filter: %d findings, not shown: %s", n, unseen)
	}
}
