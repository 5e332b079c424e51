package order_test

import (
	"context"
	"errors"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// attempts is how often a transaction is made for one purchase.
const attempts = 4

// A rival holds the sale's row for longer than a lock may be waited for.
func TestLockWaitTimesOut(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		t.Run("once", func(t *testing.T) {
			rival := w.hold(t)
			w.faults.update = func(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
				if w.faults.updates.Load() == 2 {
					_ = rival.Rollback()
				}
				return commit(f)
			}
			p := buy("1", "once", "k", 1)
			w.is(t, p, w.places(t, p), 9)
			if n := w.faults.updates.Load(); n != 2 {
				t.Errorf("%d transactions, want two", n)
			}
		})
		t.Run("always", func(t *testing.T) {
			w.faults.updates.Store(0)
			w.faults.update = nil
			rival := w.hold(t)
			p := buy("1", "always", "k", 1)
			a := <-w.placing(t, p)
			if !errors.Is(a.err, api.ErrFailed) || errors.Is(a.err, api.ErrUnknown) {
				t.Errorf("told %+v, %v; want failed", a.order, a.err)
			}
			if n := w.faults.updates.Load(); n != attempts {
				t.Errorf("%d transactions, want %d", n, attempts)
			}
			_ = rival.Rollback()
			w.isNot(t, p, 9)
			w.is(t, p, w.places(t, p), 8)
		})
	})
}
