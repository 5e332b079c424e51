package order_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// grouped places purchases of item 1 that share one group, and returns what they
// were told. It runs in a bubble, so that "everybody waits in the lane" is a
// fact and not a guess. prepare puts faults in before the group starts.
func grouped(t *testing.T, prepare func(*faulty), purchases []order.Purchase, check func(t *testing.T, sh *shop, answers []api.Order, errs []error)) {
	t.Helper()
	clock := storetest.NewClock()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t, clock.Now)
		create(t, s, "1", 1000, 1)
		st := &faulty{Store: s}
		sh := open(t, s, func(o *order.Options) { o.Store = st })

		gate := make(chan struct{})
		st.update = func(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
			<-gate
			return commit(f)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = sh.Place(t.Context(), buy("1", "first", "k", 1)) })
		synctest.Wait() // the first is in its transaction
		orders, errs := make([]api.Order, len(purchases)), make([]error, len(purchases))
		for i := range purchases {
			wg.Go(func() { orders[i], errs[i] = sh.Place(t.Context(), purchases[i]) })
		}
		synctest.Wait() // the others wait for it
		st.update = nil
		prepare(st)
		st.updates.Store(0)
		close(gate)
		wg.Wait()
		if got := sh.heard.largest.Load(); got != int64(len(purchases)) {
			t.Fatalf("the largest group had %d purchases, want all %d in one", got, len(purchases))
		}
		check(t, sh, orders, errs)
		clean(t, s)
	})
}

func TestOneBadOrderInAGroup(t *testing.T) {
	bad := func(st *faulty) {
		st.write = func(w order.Write) error {
			for _, r := range w.Rows {
				if r.Order.User == "u7" {
					return fmt.Errorf("a damaged row: %w", order.ErrGuard)
				}
			}
			return nil
		}
	}
	grouped(t, bad, users(20), func(t *testing.T, sh *shop, _ []api.Order, errs []error) {
		for i, err := range errs {
			switch {
			case i == 7 && (!errors.Is(err, api.ErrFailed) || errors.Is(err, api.ErrUnknown)):
				t.Errorf("the bad one was told %v, want definitely not done", err)
			case i != 7 && err != nil:
				t.Errorf("neighbour %d failed with it: %v", i, err)
			}
		}
		if _, err := sh.store.Find(t.Context(), "u7", "k"); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("the bad one left a trace: %v", err)
		}
	})
}

// A busy database is nobody's fault: the group stays together.
func TestBusyDatabaseTearsTheGroupApart(t *testing.T) {
	busy := 2
	prepare := func(st *faulty) {
		st.update = func(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
			if busy--; busy >= 0 {
				return order.ErrBusy
			}
			return commit(f)
		}
	}
	grouped(t, prepare, users(20), func(t *testing.T, sh *shop, _ []api.Order, errs []error) {
		if err := errors.Join(errs...); err != nil {
			t.Errorf("after two busy answers: %v", err)
		}
		st := sh.opened.(*faulty)
		if got := st.updates.Load(); got != 2+1 {
			t.Errorf("%d transactions, want two busy ones and one for all", got)
		}
	})
}

func TestDatabaseBusyForEver(t *testing.T) {
	prepare := func(st *faulty) {
		st.update = func(context.Context, func(func(order.Tx) error) error, func(order.Tx) error) error {
			return order.ErrBusy
		}
	}
	grouped(t, prepare, users(20), func(t *testing.T, sh *shop, _ []api.Order, errs []error) {
		for i, err := range errs {
			if !errors.Is(err, api.ErrFailed) || errors.Is(err, api.ErrUnknown) {
				t.Fatalf("%d was told %v, want definitely not done", i, err)
			}
		}
		if got := sh.heard.results("failed"); got != 20 {
			t.Errorf("%d counted as failed, want 20", got)
		}
	})
}

// The largest group fits into the statements that a database takes.
func TestLargestGroup(t *testing.T) {
	grouped(t, func(*faulty) {}, users(128), func(t *testing.T, sh *shop, orders []api.Order, errs []error) {
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if got := sh.opened.(*faulty).updates.Load(); got != 1 {
			t.Errorf("%d transactions, want one for all", got)
		}
		for i, o := range orders {
			if got, err := sh.store.Find(t.Context(), fmt.Sprint("u", i), "k"); err != nil || got != o {
				t.Fatalf("told %+v; SQL has %+v, %v", o, got, err)
			}
		}
	})
}
