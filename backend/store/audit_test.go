package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// What was damaged past the store is named by the audit of every engine. Each
// damage adds to those before.
func TestDamageUnseen(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 20))
		for id := range int64(8) {
			place(t, s, "1", string(rune('a'+id)), 1+id, 1)
		}
		for id := range int64(2) {
			if _, _, err := s.Cancel(t.Context(), string(rune('a'+id)), 1+id); err != nil {
				t.Fatal(err)
			}
		}
		clean(t, s)
		for _, c := range []struct{ damage, rule, class, detail string }{
			{"UPDATE sales SET num = num + 1", "I2", "oversell", "the sale says 15"},
			{"UPDATE sales SET num = num - 2", "I2", "undersell", "the sale says 13"},
			{"INSERT INTO stock_journal (item, delta, kind, at) VALUES ('1', -2, 'sold', 0)", "I2", "journal_drift", "sums to 12"},
			{"DELETE FROM stock_journal WHERE order_id = 3", "I2", "orphan_order", "order 3 "},
			{"DELETE FROM orders WHERE id = 4", "I2", "orphan_order", "order 4 "},
			{"UPDATE user_quota SET bought = bought + 1 WHERE user_id = 'e'", "I3", "quota_drift", "user e "},
			{"DELETE FROM user_quota WHERE user_id = 'f'", "I3", "quota_drift", "user f "},
			{"UPDATE orders SET qty = 5 WHERE id = 7", "I3", "over_limit", "user g "},
			{"INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES ('1', 1, 'returned', 8, 0)", "I7", "double_return", "order 8 "},
			{"UPDATE stock_journal SET delta = 2 WHERE kind = 'returned' AND order_id = 1", "I7", "double_return", "order 1 "},
			{"UPDATE orders SET state = 'paid' WHERE id = 2", "I7", "double_return", "order 2 "},
		} {
			db.Exec(t, c.damage)
			r, err := reseed.Audit(t.Context(), s, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Findings, func(f reseed.Finding) bool {
				return f.Rule == c.rule && f.Class == c.class && strings.Contains(f.Detail, c.detail)
			}) {
				t.Errorf("after %s: no %s %s with %q in %+v", c.damage, c.rule, c.class, c.detail, r.Findings)
			}
		}
	})
}

// An audit, and what the filter is seeded from, are of one moment: that others
// sell meanwhile is no finding.
func TestAuditBetweenTwoOrders(t *testing.T) {
	t.Parallel()
	const sellers, each = 3, 25
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s, other := db.Open(t, nil), db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 1000))
		sold := make(chan struct{})
		var wg sync.WaitGroup
		for i := range int64(sellers) {
			wg.Go(func() {
				for n := range int64(each) {
					buyAndStay(t, other, 1+i*each+n)
				}
			})
		}
		go func() { wg.Wait(); close(sold) }()
		for looking := true; looking; {
			select {
			case <-sold:
				looking = false
			default:
			}
			clean(t, s)
			seed, err := s.Snapshot(t.Context(), "1")
			if err != nil {
				t.Fatal(err)
			}
			if units := int64(len(seed.Buyers)); seed.Stock+units != 1000 {
				t.Errorf("%d left and %d bought of 1000", seed.Stock, units)
			}
		}
		if v := saleAt(t, s, "1"); v.Num != 1000-sellers*each {
			t.Errorf("%d left", v.Num)
		}
	})
}

// buyAndStay takes a unit, however busy the database is.
func buyAndStay(t *testing.T, s *store.Store, id int64) {
	t.Helper()
	for {
		err := s.Update(t.Context(), func(tx order.Tx) error {
			_, err := write(t.Context(), tx, "1", order.FormatNumber(id), id, 1)
			return err
		})
		if !errors.Is(err, order.ErrBusy) {
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}
