package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// overdue places orders of a user each whose time to pay is over.
func overdue(t *testing.T, s *store.Store, item string, first, count int64) {
	t.Helper()
	err := s.Update(t.Context(), func(tx order.Tx) error {
		v, _, _, err := tx.Read(t.Context(), item, []order.Key{{User: "nobody", BizID: "k"}})
		if err != nil {
			return err
		}
		w := order.Write{Sale: v, Units: count}
		for id := first; id < first+count; id++ {
			w.Rows = append(w.Rows, order.Row{ID: id, Path: api.PathDB, Epoch: v.Epoch, Order: api.Order{
				Item: item, User: fmt.Sprint("u", id%7, "-", id), BizID: "k", Qty: 1, State: api.StateCreated, CreatedAt: v.Now, PayBy: v.Now - id%3,
			}})
		}
		return tx.Write(t.Context(), w)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An order is paid or given back, once; what came second is told where it stands.
func TestOrderMovesTwice(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 10))
		place(t, s, "1", "payer", 1, 2)
		place(t, s, "1", "leaver", 2, 3)
		overdue(t, s, "1", 3, 1)
		late := "u3-3"
		for _, step := range []struct {
			what    string
			move    func() (api.Order, bool, error)
			changed bool
			state   api.State
			left    int64
		}{
			{"paying too late", func() (api.Order, bool, error) { return s.Pay(t.Context(), late, 3) }, false, api.StateCreated, 4},
			{"paying", func() (api.Order, bool, error) { return s.Pay(t.Context(), "payer", 1) }, true, api.StatePaid, 4},
			{"paying again", func() (api.Order, bool, error) { return s.Pay(t.Context(), "payer", 1) }, false, api.StatePaid, 4},
			{"cancelling what is paid", func() (api.Order, bool, error) { return s.Cancel(t.Context(), "payer", 1) }, false, api.StatePaid, 4},
			{"cancelling", func() (api.Order, bool, error) { return s.Cancel(t.Context(), "leaver", 2) }, true, api.StateCancelled, 7},
			{"cancelling again", func() (api.Order, bool, error) { return s.Cancel(t.Context(), "leaver", 2) }, false, api.StateCancelled, 7},
			{"paying what was cancelled", func() (api.Order, bool, error) { return s.Pay(t.Context(), "leaver", 2) }, false, api.StateCancelled, 7},
		} {
			o, changed, err := step.move()
			if err != nil || changed != step.changed || o.State != step.state {
				t.Errorf("%s: %+v, %v, %v", step.what, o, changed, err)
			}
			if v := saleAt(t, s, "1"); v.Num != step.left {
				t.Errorf("after %s: %d left, want %d", step.what, v.Num, step.left)
			}
			clean(t, s)
		}
		if _, _, err := s.Pay(t.Context(), "payer", 2); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("paying another's order: %v", err)
		}
		place(t, s, "1", "leaver again", 4, 3)
	})
}

// Two processes expire the same orders of two items, while buyers of both take and
// give back units. Each order expires once, and nothing is lost.
func TestExpiryOfTwoProcesses(t *testing.T) {
	t.Parallel()
	const orders = 60
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		stores := []*store.Store{db.Open(t, nil), db.Open(t, nil)}
		for i, item := range []string{"b", "a"} {
			storetest.Create(t, stores[0], saleOf(item, 1000))
			overdue(t, stores[0], item, int64(1+i*orders), orders)
		}
		expired := make([][]api.Order, len(stores))
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() { expired[i] = expireAll(t, s) })
			wg.Go(func() {
				for n := range int64(20) {
					buyAndLeave(t, s, []string{"a", "b"}[n%2], int64(1000*(i+1))+n)
				}
			})
		}
		wg.Wait()
		all := slices.Concat(expired...)
		ids := make(map[string]bool)
		for _, o := range all {
			ids[o.OrderID] = true
		}
		if len(all) != 2*orders || len(ids) != 2*orders {
			t.Errorf("%d expiries of %d orders, want %d", len(all), len(ids), 2*orders)
		}
		for _, item := range []string{"a", "b"} {
			if v := saleAt(t, stores[0], item); v.Num != 1000 {
				t.Errorf("%s: %d left, want all", item, v.Num)
			}
		}
		clean(t, stores[1])
	})
}

// expireAll expires until nothing is due.
func expireAll(t *testing.T, s *store.Store) (all []api.Order) {
	t.Helper()
	for {
		some, err := s.Expire(t.Context(), 25)
		all = append(all, some...)
		switch {
		case errors.Is(err, order.ErrBusy): // the next round is as good
		case err != nil:
			t.Error(err)
			return all
		case len(some) == 0 && !due(t, s):
			return all
		}
	}
}

func due(t *testing.T, s *store.Store) bool {
	t.Helper()
	for _, item := range []string{"a", "b"} {
		b, err := s.Books(t.Context(), item)
		if err != nil {
			t.Error(err)
			return false
		}
		for user := range b.Buyers {
			if user[0] == 'u' {
				return true
			}
		}
	}
	return false
}

// buyAndLeave takes two units and gives them back, however busy the database is.
func buyAndLeave(t *testing.T, s *store.Store, item string, id int64) {
	t.Helper()
	user := fmt.Sprint("v", id)
	insist := func(f func() error) {
		for {
			if err := f(); err == nil {
				return
			} else if !errors.Is(err, order.ErrBusy) {
				t.Error(err)
				return
			}
		}
	}
	insist(func() error {
		return s.Update(t.Context(), func(tx order.Tx) error {
			_, err := write(t.Context(), tx, item, user, id, 2)
			return err
		})
	})
	insist(func() error {
		_, _, err := s.Cancel(t.Context(), user, id)
		return err
	})
}
