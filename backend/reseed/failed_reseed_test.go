package reseed_test

import (
	"context"
	"testing"

	"rushgate/backend/reseed"
	"rushgate/lua"
)

// lateFailure is a filter whose first seed takes the seeder's whole time, and fails.
type lateFailure struct {
	lua.Filter
	w      *world
	failed bool
}

func (f *lateFailure) Seed(ctx context.Context, s lua.Seed) error {
	if f.failed {
		return f.Filter.Seed(ctx, s)
	}
	f.failed = true
	f.w.clock.Add(lease)
	return errBroken
}

// A reseed that took long and failed is tried again when its lease has ended, and
// not only after twenty times as long.
func TestFailedReseedLeavesTheSaleUnseeded(t *testing.T) {
	w := newWorld(t)
	w.create("1", 10, 0)
	f := &lateFailure{Filter: w.filter, w: w}
	w.seeder = w.newSeeder(w.store, f)
	if err := w.seeder.Sweep(t.Context()); err == nil || !f.failed {
		t.Fatalf("the first sweep: %v", err)
	}
	w.sweeps(2)
	w.reseededFor("1", reseed.Missing)
	w.agrees("1")
}

// One silent filter costs an audit one wait, not one for each sale, and what SQL
// says of itself is still said.
func TestAuditWaitsForASilentFilterOnce(t *testing.T) {
	w := newWorld(t)
	for _, item := range []string{"1", "2", "3"} {
		w.open(item, 10)
	}
	f := &brokenFilter{Filter: w.filter, broken: true}
	r, err := reseed.AuditLive(t.Context(), w.store, f, "", repairAfter)
	if err != nil || f.views != 1 || len(r.Items) != 3 || len(r.NotShown) != 4 {
		t.Errorf("%v, asked %d times, checked %v, not shown: %q", err, f.views, r.Items, r.NotShown)
	}
}
