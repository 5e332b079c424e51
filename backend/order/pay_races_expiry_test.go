package order_test

import (
	"fmt"
	"sync"
	"testing"

	"rushgate/backend/api"
)

// One conditional update decides, many times over: whoever pays is told paid, or
// that it was too late, and the order and its units say the same.
func TestPaymentRacesTheExpiry(t *testing.T) {
	f := openFiltered(t, 100)
	const n = 40
	orders := make([]api.Order, n)
	for i := range orders {
		orders[i] = f.buy(fmt.Sprint("u", i), "k")
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range orders {
		wg.Go(func() { _, errs[i] = f.life.Pay(t.Context(), orders[i].User, orders[i].OrderID) })
	}
	expired := 0
	wg.Go(func() {
		f.clock.Add(payWithin) // somewhere between the payments
		var err error
		if expired, err = f.life.ExpireDue(t.Context()); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	paid := 0
	for i, o := range orders {
		got, err := f.store.Find(t.Context(), o.User, o.BizID)
		switch {
		case err != nil:
			t.Fatal(err)
		case errs[i] == nil && got.State == api.StatePaid:
			paid++
		case inState(errs[i], api.StateExpired) && got.State == api.StateExpired:
		default:
			t.Errorf("told %v, and the order is %s", errs[i], got.State)
		}
	}
	if paid+expired != n {
		t.Errorf("%d paid and %d expired of %d", paid, expired, n)
	}
	f.agreed(100 - int64(paid))
}

// Paying, cancelling and cancelling again at once: one of them happens.
func TestPaymentRacesTheCancellation(t *testing.T) {
	f := openFiltered(t, 100)
	const n = 40
	kept := int64(0)
	for i := range n {
		o := f.buy(fmt.Sprint("u", i), "k")
		var errs [3]error
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = f.life.Pay(t.Context(), o.User, o.OrderID) })
		wg.Go(func() { _, errs[1] = f.life.Cancel(t.Context(), o.User, o.OrderID) })
		wg.Go(func() { _, errs[2] = f.life.Cancel(t.Context(), o.User, o.OrderID) })
		wg.Wait()
		won := api.StateCancelled
		if errs[0] == nil {
			won = api.StatePaid
			kept++
		}
		winners := 0
		for _, err := range errs {
			if err == nil {
				winners++
			} else if !inState(err, won) {
				t.Errorf("a loser was told %v, want order_state %s", err, won)
			}
		}
		if winners != 1 {
			t.Errorf("%d of three changes happened: %v", winners, errs)
		}
	}
	f.agreed(100 - kept)
}
