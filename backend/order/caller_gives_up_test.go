package order_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// gated is a shop whose transactions wait at a gate before they begin.
type gated struct {
	*shop
	gate chan struct{}
}

func openGated(t *testing.T, s *store.Store, change func(*order.Options)) *gated {
	t.Helper()
	g := &gated{gate: make(chan struct{})}
	st := &faulty{Store: s, update: func(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
		<-g.gate
		return commit(f)
	}}
	g.shop = open(t, s, func(o *order.Options) {
		o.Store = st
		if change != nil {
			change(o)
		}
	})
	return g
}

// outcome of a call that runs.
type outcome struct {
	order api.Order
	err   error
}

func (g *gated) start(ctx context.Context, p order.Purchase) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		o, err := g.Place(ctx, p)
		c <- outcome{o, err}
	}()
	return c
}

func TestCallerGivesUp(t *testing.T) {
	clock := storetest.NewClock()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t, clock.Now)
		create(t, s, "1", 10, 1)
		g := openGated(t, s, nil)
		taken, cancelTaken := context.WithCancel(t.Context())
		waiting, cancelWaiting := context.WithCancel(t.Context())
		first := g.start(taken, buy("1", "taken", "k", 1))
		synctest.Wait()
		second := g.start(waiting, buy("1", "waiting", "k", 1))
		third := g.start(t.Context(), buy("1", "patient", "k", 1))
		synctest.Wait()
		cancelTaken()
		cancelWaiting()
		if got := <-first; !errors.Is(got.err, api.ErrUnknown) || errors.Is(got.err, api.ErrFailed) {
			t.Errorf("gave up while a group placed it: %v, want unknown", got.err)
		}
		if got := <-second; !errors.Is(got.err, api.ErrFailed) || errors.Is(got.err, api.ErrUnknown) {
			t.Errorf("gave up before a group took it: %v, want definitely not done", got.err)
		}
		close(g.gate)
		if got := <-third; got.err != nil {
			t.Errorf("who kept waiting was told %v", got.err)
		}
		if got := g.heard.results("failed"); got != 1 {
			t.Errorf("%d counted as not done, want the one", got)
		}
		if _, err := s.Find(t.Context(), "taken", "k"); err != nil {
			t.Errorf("what was taken became no order: %v", err)
		}
		if _, err := s.Find(t.Context(), "waiting", "k"); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("who was told \"not done\" has an outcome: %v", err)
		}
		clean(t, s)
	})
}

func TestTooManyPurchasesOfOneItem(t *testing.T) {
	clock := storetest.NewClock()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t, clock.Now)
		create(t, s, "1", 10, 1)
		create(t, s, "2", 10, 1)
		g := openGated(t, s, func(o *order.Options) { o.ItemConcurrency = 3 })
		var within []<-chan outcome
		start := func(item, user string) {
			within = append(within, g.start(t.Context(), buy(item, user, "k", 1)))
			synctest.Wait()
		}
		tooMany := func(user string) {
			t.Helper()
			if _, err := g.Place(t.Context(), buy("1", user, "k", 1)); !errors.Is(err, api.ErrFailed) {
				t.Errorf("%s, one too many, was told %v, want not done", user, err)
			}
		}
		start("1", "a") // in its transaction
		start("1", "b") // in the lane
		start("1", "c")
		tooMany("d")
		start("2", "e")
		g.gate <- struct{}{} // of either item
		g.gate <- struct{}{}
		synctest.Wait() // two are in their transaction, and one may follow
		start("1", "f")
		tooMany("g")
		close(g.gate)
		for i, c := range within {
			if got := <-c; got.err != nil {
				t.Errorf("number %d of those within the cap was told %v", i, got.err)
			}
		}
		clean(t, s)
	})
}

func TestPlacingAfterTheEnd(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 100, 1)
	sh := open(t, s, nil)
	var wg sync.WaitGroup
	wg.Go(func() { together(t.Context(), sh.Placer, users(50)) })
	sh.Close() // beside calls that come and go
	if _, err := sh.Place(t.Context(), buy("1", "late", "k", 1)); !errors.Is(err, api.ErrFailed) {
		t.Errorf("after Close: %v, want not done", err)
	}
	wg.Wait()
	clean(t, s)
}
