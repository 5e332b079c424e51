package order_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// queued is the purchase with the filter's leave, in whatever epoch.
func queued(p order.Purchase) order.Purchase {
	p.Path = api.PathQueue
	return p
}

// witness is a lock that looks, at the moment it is given back, at what another
// connection can see.
type witness struct {
	look    func()
	unlocks atomic.Int64
	err     error // of unlock
}

func (w *witness) Lock(ctx context.Context, _ string) (context.Context, func() error, error) {
	return ctx, func() error {
		w.look()
		w.unlocks.Add(1)
		return w.err
	}, nil
}

func TestLockGivenBackBeforeTheCommit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rushgate.db")
	s, other := storetest.OpenFile(t, file, nil), storetest.OpenFile(t, file, nil)
	create(t, s, "1", 100, 1)
	next := 0 // the purchase that is being placed
	w := &witness{err: errors.New("the lock was lost meanwhile")}
	w.look = func() {
		o, err := other.Find(t.Context(), fmt.Sprint("u", next), "k")
		if err != nil || o.State != api.StateCreated {
			t.Errorf("the lock is given back, and another connection finds %+v, %v", o, err)
		}
	}
	sh := open(t, s, func(o *order.Options) { o.Locker = w })
	for i := range 20 {
		next = i
		if _, err := sh.Place(t.Context(), queued(buy("1", fmt.Sprint("u", i), "k", 1))); err != nil {
			t.Fatal(err)
		}
		if got := w.unlocks.Load(); got != int64(i+1) {
			t.Fatalf("%d unlocks when the buyer is told, want %d", got, i+1)
		}
	}
}

// unobtainable is a lock that somebody else holds for ever.
type unobtainable struct{ bounded atomic.Bool }

func (u *unobtainable) Lock(ctx context.Context, _ string) (context.Context, func() error, error) {
	_, ok := ctx.Deadline()
	u.bounded.Store(ok)
	<-ctx.Done()
	return nil, nil, context.Cause(ctx)
}

func TestLockThatCannotBeHad(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 1, 1)
	var l unobtainable
	sh := open(t, s, func(o *order.Options) { o.Locker, o.LockWait = &l, time.Millisecond })
	if _, err := sh.Place(t.Context(), queued(buy("1", "u", "k", 1))); err != nil {
		t.Fatalf("without the lock: %v, want an order", err)
	}
	if !l.bounded.Load() {
		t.Error("the wait for the lock has no bound")
	}
	if got := sh.heard.unlocked.Load(); got != 1 {
		t.Errorf("counted %d groups without the lock, want 1", got)
	}
	clean(t, s)
}

// On the DB path Redis is most likely away, and the lock with it.
func TestDBPathWaitsForTheLock(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 1, 1)
	var l unobtainable
	sh := open(t, s, func(o *order.Options) { o.Locker, o.LockWait = &l, time.Hour })
	p := buy("1", "u", "k", 1)
	p.Path = api.PathDB
	if _, err := sh.Place(t.Context(), p); err != nil {
		t.Fatalf("on the DB path: %v, want an order", err)
	}
	if got := sh.heard.unlocked.Load(); got != 0 {
		t.Errorf("counted %d groups as wanting the lock, want none", got)
	}
	clean(t, s)
}

// Two processes that share a database and no lock, and every request arrives at
// both.
func TestLastTicketSoldTwice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rushgate.db")
	s, other := storetest.OpenFile(t, file, nil), storetest.OpenFile(t, file, nil)
	create(t, s, "1", 25, 1)
	a, b := open(t, s, nil), open(t, other, nil)
	wants := users(100)
	for i := range wants { // and each buyer tries with two keys
		second := wants[i]
		second.Key.BizID = "other"
		wants = append(wants, second)
	}
	var orders [2][]api.Order
	var errs [2][]error
	var wg sync.WaitGroup
	for i, sh := range []*shop{a, b} {
		wg.Go(func() { orders[i], errs[i] = together(t.Context(), sh.Placer, wants) })
	}
	wg.Wait()
	sold := map[string]string{}
	for i := range wants {
		x, y := errs[0][i], errs[1][i]
		if orders[0][i] != orders[1][i] || fmt.Sprint(x) != fmt.Sprint(y) {
			t.Fatalf("one key, two outcomes: %+v %v and %+v %v", orders[0][i], x, orders[1][i], y)
		}
		if o := orders[0][i]; x == nil {
			if before, twice := sold[o.User]; twice {
				t.Errorf("user %s got orders %s and %s", o.User, before, o.OrderID)
			}
			sold[o.User] = o.OrderID
		}
	}
	if len(sold) != 25 || left(t, s, "1") != 0 {
		t.Errorf("sold %d of 25, %d left", len(sold), left(t, s, "1"))
	}
	clean(t, s)
}
