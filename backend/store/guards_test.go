package store_test

import (
	"errors"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// Every write carries its own guards: one that nobody planned is refused by SQL,
// as a whole, with the lock held or not.
func TestWriteThatNobodyPlanned(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 5)) // three a user
		place(t, s, "1", "has two", 1, 2)
		row := func(id int64, user, bizID string, qty int) order.Row {
			return order.Row{ID: id, Path: api.PathRedis, Epoch: 1, Order: api.Order{
				Item: "1", User: user, BizID: bizID, Qty: qty, State: api.StateCreated, CreatedAt: 1, PayBy: 1,
			}}
		}
		for name, change := range map[string]func(*order.Write){
			"more units than there are":      func(w *order.Write) { w.Units = 4 },
			"under an epoch that is over":    func(w *order.Write) { w.Pinned, w.Sale.Epoch = true, w.Sale.Epoch-1 },
			"beyond a user's limit":          func(w *order.Write) { w.Rows = append(w.Rows, row(12, "has two", "other", 2)) },
			"beyond a new user's limit":      func(w *order.Write) { w.Rows = append(w.Rows, row(12, "new", "k", 4)) },
			"in two orders of the group":     func(w *order.Write) { w.Rows = append(w.Rows, row(12, "new", "a", 2), row(13, "new", "b", 2)) },
			"a key that has an outcome":      func(w *order.Write) { w.Rows = append(w.Rows, row(12, "has two", "k", 1)) },
			"a key twice":                    func(w *order.Write) { w.Rows = append(w.Rows, row(12, "fine", "k", 1)) },
			"a number that is taken":         func(w *order.Write) { w.Rows = append(w.Rows, row(1, "new", "k", 1)) },
			"an item that is not on sale":    func(w *order.Write) { w.Sale.Item = "nothing" },
			"no units at all in an order":    func(w *order.Write) { w.Rows = append(w.Rows, row(12, "new", "k", 0)) },
			"a refusal of an order's number": func(w *order.Write) { w.Rows[0].Order.State, w.Rows[0].ID = api.StateRefused, 1 },
		} {
			err := s.Update(t.Context(), func(tx order.Tx) error {
				v, _, _, err := tx.Read(t.Context(), "1", []order.Key{{User: "fine", BizID: "k"}})
				if err != nil {
					return err
				}
				w := order.Write{Sale: v, Rows: []order.Row{row(11, "fine", "k", 1)}, Units: 1}
				change(&w)
				return tx.Write(t.Context(), w)
			})
			if !errors.Is(err, order.ErrGuard) {
				t.Errorf("%s: %v, want a guard", name, err)
			}
			if _, err := s.Find(t.Context(), "fine", "k"); !errors.Is(err, api.ErrNotFound) {
				t.Errorf("%s: a part of it was written: %v", name, err)
			}
		}
		if v, err := s.Sale(t.Context(), "1"); err != nil || v.Num != 3 {
			t.Errorf("left with %+v, %v; want 3 units", v, err)
		}
		clean(t, s)
	})
}

// Of a recorded refusal there is no order to pay, cancel or get.
func TestRefusalTakenForAnOrder(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 5))
		refusal := api.Order{Item: "1", User: "u", BizID: "k", Qty: 1, State: api.StateRefused, Code: api.SoldOut, CreatedAt: 1}
		err := s.Update(t.Context(), func(tx order.Tx) error {
			return tx.Write(t.Context(), order.Write{Rows: []order.Row{{ID: 7, Order: refusal, Path: api.PathRefuse}}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if o, err := s.Find(t.Context(), "u", "k"); err != nil || o != refusal {
			t.Errorf("the key says %+v, %v; want %+v", o, err, refusal)
		}
		_, get := s.Get(t.Context(), "u", 7)
		_, _, pay := s.Pay(t.Context(), "u", 7)
		_, _, cancel := s.Cancel(t.Context(), "u", 7)
		for name, err := range map[string]error{"get": get, "pay": pay, "cancel": cancel} {
			if !errors.Is(err, api.ErrNotFound) {
				t.Errorf("%s: %v, want not found", name, err)
			}
		}
		if expired, err := s.Expire(t.Context(), 100); len(expired) != 0 || err != nil {
			t.Errorf("expired %+v, %v", expired, err)
		}
		clean(t, s)
	})
}
