package order_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// Two processes sell one item from one database, with no lock between them. Every
// user asks both with one key, and the first with another.
// Exactly the units there are become orders, one a user.
func TestTwoProcessesSellOneUnitTwice(t *testing.T) {
	t.Parallel()
	const units, buyers = 50, 120
	for _, e := range storetest.Engines(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			db := e.Database(t)
			shops := []*shop{open(t, db.Open(t, nil), nil), open(t, db.Open(t, nil), nil)}
			create(t, shops[0].store, "1", units, 1)
			var wg sync.WaitGroup
			orders := make([]map[string]bool, buyers) // of each user, by number
			for i := range buyers {
				wg.Go(func() { orders[i] = askAll(t, shops, fmt.Sprint("u", i)) })
			}
			wg.Wait()
			sold := 0
			for i, mine := range orders {
				sold += len(mine)
				if len(mine) > 1 {
					t.Errorf("user %d has %d orders", i, len(mine))
				}
			}
			if n := left(t, shops[0].store, "1"); sold != units || n != 0 {
				t.Errorf("%d sold and %d left of %d", sold, n, units)
			}
			clean(t, shops[1].store)
		})
	}
}

// askAll has a user ask every shop at once until each has answered, and returns the
// orders that the user was told of.
func askAll(t *testing.T, shops []*shop, user string) map[string]bool {
	t.Helper()
	var mu sync.Mutex
	told := make(map[string]bool)
	var wg sync.WaitGroup
	for _, i := range rand.Perm(len(shops) + 1) {
		wg.Go(func() {
			s, key := shops[i%len(shops)], fmt.Sprint("k", i/len(shops))
			o, err := insist(t, s, buy("1", user, key, 1))
			switch refusal, refused := errors.AsType[*api.Refusal](err); {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				told[o.OrderID] = true
			case !refused || refusal.Code != api.SoldOut && refusal.Code != api.Duplicate:
				t.Errorf("%s was told %v", user, err)
			}
		})
	}
	wg.Wait()
	return told
}

// insist asks again with the same key while nothing was done.
func insist(t *testing.T, s *shop, p order.Purchase) (o api.Order, err error) {
	t.Helper()
	for range 100 {
		if o, err = s.Place(t.Context(), p); !errors.Is(err, api.ErrFailed) {
			break
		}
	}
	return o, err
}
