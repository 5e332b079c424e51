package order_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// perishable is a ticket that is good for one more second.
func perishable(t *testing.T, s *store.Store) order.Purchase {
	t.Helper()
	p := buy("1", "u", "k", 1)
	p.Exp = sqlNow(t, s) + 1000
	return p
}

// died fails the test unless the purchase was told that its ticket expired, and
// left no trace.
func died(t *testing.T, s *store.Store, err error) {
	t.Helper()
	if !errors.Is(err, api.ErrTicketExpired) {
		t.Errorf("told %v, want an expired ticket", err)
	}
	if o, err := s.Find(t.Context(), "u", "k"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("it became %+v, %v", o, err)
	}
	clean(t, s)
}

func TestTicketExpiresInTheLane(t *testing.T) {
	clock := storetest.NewClock()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t, clock.Now)
		create(t, s, "1", 10, 1)
		g := openGated(t, s, nil)
		first := g.start(t.Context(), buy("1", "first", "k", 1))
		synctest.Wait()
		second := g.start(t.Context(), perishable(t, s))
		synctest.Wait()
		clock.Add(time.Second)
		close(g.gate)
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
		died(t, s, (<-second).err)
	})
}

// The writing connection is taken, by this process or by another.
func TestTicketExpiresBeforeTheDatabaseIsFree(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.Open(t, clock.Now)
	create(t, s, "1", 10, 1)
	sh := open(t, s, nil)
	holding, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Update(t.Context(), func(order.Tx) error {
			close(holding)
			<-release
			return nil
		})
	}()
	<-holding
	p := perishable(t, s)
	told := make(chan error, 1)
	go func() {
		_, err := sh.Place(t.Context(), p)
		told <- err
	}()
	clock.Add(time.Second)
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	died(t, s, <-told)
}

// slowLock is a lock for which one waits until the ticket is worthless.
type slowLock struct{ clock *storetest.Clock }

func (l slowLock) Lock(ctx context.Context, _ string) (context.Context, func() error, error) {
	l.clock.Add(time.Second)
	return ctx, func() error { return nil }, nil
}

func TestTicketExpiresBeforeTheLockIsHad(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.Open(t, clock.Now)
	create(t, s, "1", 10, 1)
	sh := open(t, s, func(o *order.Options) { o.Locker = slowLock{clock} })
	_, err := sh.Place(t.Context(), queued(perishable(t, s)))
	died(t, s, err)
}

func TestTicketExpiresBetweenTwoAttempts(t *testing.T) {
	for _, reason := range []error{order.ErrBusy, order.ErrGuard} {
		clock := storetest.NewClock()
		s := storetest.Open(t, clock.Now)
		create(t, s, "1", 10, 1)
		st := &faulty{Store: s}
		st.update = func(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
			if st.updates.Load() == 1 {
				clock.Add(time.Second)
				return reason
			}
			return commit(f)
		}
		sh := open(t, s, func(o *order.Options) { o.Store = st })
		_, err := sh.Place(t.Context(), perishable(t, s))
		died(t, s, err)
	}
}

func TestRefusalMadeFinalTooLate(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.Open(t, clock.Now)
	create(t, s, "1", 10, 1)
	st := &faulty{Store: s}
	st.update = func(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
		clock.Add(time.Second) // a refusal waits for no lock, only for the database
		return commit(f)
	}
	sh := open(t, s, func(o *order.Options) { o.Store = st })
	p := perishable(t, s)
	p.Path, p.Code = api.PathRefuse, api.SoldOut
	_, err := sh.Place(t.Context(), p)
	died(t, s, err)
}

// An outcome that is there is told whatever the ticket's age.
func TestLateRepeatGetsItsOrder(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.Open(t, clock.Now)
	create(t, s, "1", 10, 1)
	sh := open(t, s, nil)
	p := perishable(t, s)
	first, err := sh.Place(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	clock.Add(time.Hour)
	if again, err := sh.Place(t.Context(), p); err != nil || again != first {
		t.Errorf("an hour later: %+v, %v; want %+v", again, err, first)
	}
}
