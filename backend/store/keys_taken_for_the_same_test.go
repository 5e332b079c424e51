package store_test

import (
	"errors"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// alike are keys that some collations take for one. None of them is another.
var alike = []string{"a", "A", "a ", " a", "á", "a\u0301", "ａ", "ß", "ss", "a%", "a_", "a\\", "a'", "a\"", "a?", "a$1", "a\t"}

// An item, a user and a key are compared byte by byte: what differs by case, by
// spaces at its end or by an accent is another, to an index and to a query.
func TestKeysTakenForTheSame(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		for i, name := range alike {
			v := saleOf(name, 100)
			v.PerUser = 100 // one user has them all, each by another key
			storetest.Create(t, s, v)
			if v := saleAt(t, s, name); v.Item != name {
				t.Errorf("asked for %q, got %q", name, v.Item)
			}
			placeKey(t, s, int64(100+i), order.Key{User: name, BizID: "k"})
			placeKey(t, s, int64(200+i), order.Key{User: "u", BizID: name})
		}
		checkKeys(t, s)
		items, err := s.Items(t.Context())
		if err != nil || len(items) != len(alike) {
			t.Errorf("%d items, %v; want %d", len(items), err, len(alike))
		}
		clean(t, s)
	})
}

// placeKey places one unit of the first of them, past the planning.
func placeKey(t *testing.T, s *store.Store, id int64, k order.Key) {
	t.Helper()
	item := alike[0]
	err := s.Update(t.Context(), func(tx order.Tx) error {
		v, there, _, err := tx.Read(t.Context(), item, []order.Key{k, {User: k.User, BizID: "another"}})
		if err != nil {
			return err
		}
		if len(there) != 0 {
			t.Errorf("%q has an outcome before it was placed: %+v", k, there)
		}
		o := api.Order{OrderID: order.FormatNumber(id), Item: item, User: k.User, BizID: k.BizID, Qty: 1, State: api.StateCreated, CreatedAt: v.Now, PayBy: v.Now}
		return tx.Write(t.Context(), order.Write{Sale: v, Units: 1, Rows: []order.Row{{ID: id, Order: o, Path: api.PathQueue}}})
	})
	if err != nil {
		t.Fatalf("placing for %q: %v", k, err)
	}
}

func checkKeys(t *testing.T, s *store.Store) {
	t.Helper()
	for i, name := range alike {
		if o, err := s.Find(t.Context(), name, "k"); err != nil || o.User != name || o.OrderID != order.FormatNumber(int64(100+i)) {
			t.Errorf("the order of user %q is %+v, %v", name, o, err)
		}
		if o, err := s.Outcome(t.Context(), order.Key{User: "u", BizID: name}); err != nil || o.BizID != name || o.OrderID != order.FormatNumber(int64(200+i)) {
			t.Errorf("the order with key %q is %+v, %v", name, o, err)
		}
		if _, err := s.Find(t.Context(), name+" ", "k "); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("something was found for %q: %v", name+" ", err)
		}
	}
	seed, err := s.Snapshot(t.Context(), alike[0])
	if err != nil || len(seed.Buyers) != len(alike)+1 {
		t.Errorf("%d buyers, %v; want %d", len(seed.Buyers), err, len(alike)+1)
	}
}
