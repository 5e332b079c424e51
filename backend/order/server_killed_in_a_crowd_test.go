package order_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// The server is killed while a crowd is served, and comes back. Every order that was
// told of is there, what failed left no trace, and with the same keys everybody gets
// one order in the end.
func TestServerIsKilledInACrowd(t *testing.T) {
	const buyers, each, soon = 16, 20, 60
	onServers(t, private, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		s := start(t)
		db := connect(t, s.Driver(), s.DSN())
		create(t, db, "1", buyers*each, each)
		sh := open(t, db, nil)
		crowd := newCrowd(buyers, each)

		killed := make(chan struct{})
		var orders atomic.Int64
		served := crowd.placeAll(t, sh.Placer, func(err error) {
			if err == nil && orders.Add(1) == soon {
				s.Kill()
				close(killed)
			}
		})
		wait(t, killed, "the end of the server")
		s.Restart()
		<-served
		if n := orders.Load(); n == buyers*each {
			t.Fatal("all were served before the server was killed")
		}
		crowd.isTrue(t, sh)

		for i := range crowd {
			crowd[i].repeat(t, sh)
		}
		if n := left(t, db, "1"); n != 0 {
			t.Errorf("%d left, want none", n)
		}
		clean(t, db)
	})
}

// crowd is what many purchases were told.
type crowd []told

type told struct {
	order.Purchase
	answer
}

// newCrowd makes purchases of one unit: so many of each buyer's, with a key each.
func newCrowd(buyers, each int) crowd {
	c := make(crowd, 0, buyers*each)
	for b := range buyers {
		for k := range each {
			c = append(c, told{Purchase: buy("1", fmt.Sprint("u", b), fmt.Sprint("k", k), 1)})
		}
	}
	return c
}

// placeAll places all purchases, a buyer's one after the other, and closes what it
// returns when all were answered.
func (c crowd) placeAll(t *testing.T, p *order.Placer, answered func(error)) (served <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	var wg sync.WaitGroup
	byBuyer := make(map[string][]*told)
	for i := range c {
		byBuyer[c[i].Key.User] = append(byBuyer[c[i].Key.User], &c[i])
	}
	for _, own := range byBuyer {
		wg.Go(func() {
			for _, one := range own {
				one.order, one.err = p.Place(ctx, one.Purchase)
				answered(one.err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer cancel()
		wg.Wait()
		close(done)
	}()
	return done
}

// isTrue fails the test where SQL doesn't have what was told.
func (c crowd) isTrue(t *testing.T, sh *shop) {
	t.Helper()
	results := make(map[string]int)
	for i := range c {
		one := &c[i]
		there, err := sh.store.Find(t.Context(), one.Key.User, one.Key.BizID)
		switch {
		case one.err == nil:
			results["order"]++
			if err != nil || there != one.order {
				t.Errorf("SQL has %+v, %v; told was %+v", there, err, one.order)
			}
		case errors.Is(one.err, api.ErrUnknown):
			results["unknown"]++
		case errors.Is(one.err, api.ErrFailed):
			results["failed"]++
			if !errors.Is(err, api.ErrNotFound) {
				t.Errorf("SQL has %+v, %v; told was %v", there, err, one.err)
			}
		default:
			t.Errorf("%v was told %v", one.Key, one.err)
		}
	}
	t.Logf("told: %v", results)
}

// repeat asks again with the same key: an order that was told of is told again.
func (one *told) repeat(t *testing.T, sh *shop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	o, err := sh.Place(ctx, one.Purchase)
	if err != nil || one.err == nil && o != one.order {
		t.Errorf("%v again: %+v, %v; told was %+v, %v", one.Key, o, err, one.order, one.err)
	}
}
