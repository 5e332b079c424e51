package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// Writers of two processes take units as fast as they can, planning nothing. There
// are as many orders as there were units.
func TestUnitsBelowZero(t *testing.T) {
	t.Parallel()
	const units, writers, each = 30, 8, 8
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		stores := []*store.Store{db.Open(t, nil), db.Open(t, nil)}
		storetest.Create(t, stores[0], saleOf("1", units))
		var sold, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				for n := range each {
					switch err := takeOne(t, stores[i%2], int64(1+i*each+n)); {
					case err == nil:
						sold.Add(1)
					case errors.Is(err, order.ErrGuard):
						refused.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if v := saleAt(t, stores[0], "1"); v.Num != 0 || sold.Load() != units || refused.Load() != writers*each-units {
			t.Errorf("%d left, %d sold and %d refused of %d", v.Num, sold.Load(), refused.Load(), units)
		}
		clean(t, stores[1])
	})
}

// takeOne takes a unit for a user of its own, until the database isn't busy.
func takeOne(t *testing.T, s *store.Store, id int64) error {
	t.Helper()
	user := order.FormatNumber(id)
	for {
		err := s.Update(t.Context(), func(tx order.Tx) error {
			v := order.Sale{Item: "1", PerUser: 1, Now: 1}
			o := api.Order{Item: "1", User: user, BizID: "k", Qty: 1, State: api.StateCreated, CreatedAt: 1, PayBy: 1}
			return tx.Write(t.Context(), order.Write{Sale: v, Units: 1, Rows: []order.Row{{ID: id, Order: o, Path: api.PathQueue}}})
		})
		if !errors.Is(err, order.ErrBusy) {
			return err
		}
	}
}

// The tables refuse by themselves what no statement of ours would do.
func TestTablesTakeNonsense(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 5))
		place(t, s, "1", "u", 7, 2)
		pool := db.Pool(t)
		for _, statement := range []string{
			"UPDATE sales SET num = num - 4",
			"UPDATE sales SET per_user = 0",
			"UPDATE sales SET ends_at = starts_at",
			"UPDATE user_quota SET bought = bought - 3",
			"UPDATE orders SET qty = 0",
			"INSERT INTO user_quota (item, user_id, bought) VALUES ('1', 'u', 1)",
			"INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES ('1', -2, 'sold', 7, 1)",
		} {
			if _, err := pool.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s was done", statement)
			}
		}
		clean(t, s)
	})
}

// A sale was paused after the DB path had read it, and before it wrote.
func TestOrderOnTheDBPathAfterAPause(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 5))
		open := saleAt(t, s, "1")
		if err := s.SetPaused(t.Context(), "1", true); err != nil {
			t.Fatal(err)
		}
		o := api.Order{Item: "1", User: "u", BizID: "k", Qty: 1, State: api.StateCreated, CreatedAt: 1, PayBy: 1}
		w := order.Write{Sale: open, Units: 1, DBPath: true, Rows: []order.Row{{ID: 7, Order: o, Path: api.PathDB}}}
		update := func() error {
			return s.Update(t.Context(), func(tx order.Tx) error { return tx.Write(t.Context(), w) })
		}
		if err := update(); !errors.Is(err, order.ErrGuard) {
			t.Errorf("paused: %v, want a guard", err)
		}
		if err := s.SetPaused(t.Context(), "1", false); err != nil {
			t.Fatal(err)
		}
		if err := update(); err != nil {
			t.Errorf("resumed: %v", err)
		}
		clean(t, s)
	})
}
