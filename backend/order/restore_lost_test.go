package order_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/lua"
)

// hearing stands before a filter's Restore.
type hearing struct {
	before func(item, user, bizID string) error
	filter *lua.Memory
	asked  int
}

func (h *hearing) Restore(ctx context.Context, item, user, bizID string, qty int64) (bool, error) {
	h.asked++
	if err := h.before(item, user, bizID); err != nil {
		return false, err
	}
	return h.filter.Restore(ctx, item, user, bizID, qty)
}

var errFilterGone = errors.New("the filter does not answer")

func TestRestoreLost(t *testing.T) {
	f := openFiltered(t, 10)
	o := f.buy("u", "k")
	f.wait(time.Minute) // long quiet before the cancellation
	f.life.Filter = &hearing{before: func(string, string, string) error { return errFilterGone }}
	if got, err := f.life.Cancel(t.Context(), "u", o.OrderID); err != nil || got.State != api.StateCancelled {
		t.Fatalf("cancelling while the filter is away: %+v, %v", got, err)
	}
	f.causes = nil
	f.sweep()
	f.wait(repairAfter - time.Millisecond)
	f.sweep()
	if len(f.causes) != 0 {
		t.Errorf("reseeded for %v while the filter might still hear of it", f.causes)
	}
	f.wait(time.Second)
	f.sweep()
	if !slices.Equal(f.causes, []reseed.Cause{reseed.Drift}) {
		t.Errorf("reseeded for %v, want drift once", f.causes)
	}
	f.agreed(10)
	f.buy("u", "another key")
}

// Before the commit, the filter would offer units that SQL still counts as sold.
func TestFilterHearsBeforeTheCommit(t *testing.T) {
	f := openFiltered(t, 10)
	one, two := f.buy("u", "k"), f.buy("v", "k")
	h := &hearing{filter: f.filter}
	h.before = func(_, user, bizID string) error {
		if o, err := f.store.Find(t.Context(), user, bizID); err != nil || o.State.Active() {
			t.Errorf("the filter hears of %+v, %v: it is not committed", o, err)
		}
		return nil
	}
	f.life.Filter = h
	if _, err := f.life.Cancel(t.Context(), "u", one.OrderID); err != nil {
		t.Fatal(err)
	}
	f.wait(payWithin)
	if _, err := f.life.ExpireDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.asked != 2 {
		t.Errorf("the filter heard %d times, want of %s and of %s", h.asked, one.OrderID, two.OrderID)
	}
	f.agreed(10)
}

// Expiring many orders does not wait for a dead filter once for each.
func TestDeadFilterSlowsTheExpiry(t *testing.T) {
	f := openFiltered(t, 100)
	_, errs := together(t.Context(), f.Placer, users(100))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	h := &hearing{before: func(string, string, string) error { return errFilterGone }}
	f.life.Filter = h
	f.wait(payWithin)
	if n, err := f.life.ExpireDue(t.Context()); n != 100 || err != nil {
		t.Errorf("expired %d, %v; want all", n, err)
	}
	if h.asked != 1 {
		t.Errorf("the dead filter was asked %d times for one batch, want once", h.asked)
	}
	f.wait(time.Second)
	f.sweep()
	f.agreed(100)
}
