package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/lua"
)

func sameUser(item, user string, n int, key func(int) string) []click {
	clicks := make([]click, n)
	for i := range clicks {
		clicks[i] = click{item: item, user: user, key: key(i)}
	}
	return clicks
}

// codes counts answers by code; an order counts as "order".
func codes(answers []answer) map[string]int {
	n := map[string]int{}
	for _, a := range answers {
		if a.status == 201 {
			n["order"]++
		} else {
			n[a.Code]++
		}
	}
	return n
}

func TestRepeatClicksOfOneBuyerDrainTheStock(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 100))
	n := codes(s.crowd(32, sameUser("1", "greedy", 1000, func(i int) string { return fmt.Sprint("key", i) })))
	if n["order"] != 1 || n["duplicate"] != 999 || s.left("1") != 99 {
		t.Fatalf("1,000 clicks of one buyer: %v, %d left; want 1 order, 999 duplicates, 99 left", n, s.left("1"))
	}
	if n := codes(s.crowd(32, freshClicks("1", "u", 99))); n["order"] != 99 {
		t.Fatalf("the other 99 units: %v", n)
	}
	s.settled()
}

func TestOneKeyIsToldOneOutcomeForEver(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	sale := saleOf("1", 3)
	sale.EndsAt = time.Now().Add(8 * time.Second).UnixMilli()
	s.sell(sale)
	var first string
	asks := func(when string, n int, repeat bool) {
		t.Helper()
		clicks := sameUser("1", "u", n, func(int) string { return "the-key" })
		for i := range clicks {
			clicks[i].repeat = repeat
		}
		for _, a := range s.crowd(32, clicks) {
			if first == "" {
				first = a.OrderID
			}
			if a.status != 201 || a.OrderID != first || first == "" {
				t.Fatalf("%s: %s, want 201 and order %s", when, a.String(), first)
			}
		}
	}
	asks("at once", 1000, false)
	if n := codes(s.crowd(8, freshClicks("1", "o", 10))); n["order"] != 2 || n["sold_out"] != 8 {
		t.Fatalf("two units to ten others: %v", n)
	}
	asks("after the sale sold out", 1000, false)
	asks("after the sale sold out, marked", 100, true)
	s.eventually("the sale ends", func() bool {
		v, err := s.backend.Store.Sale(t.Context(), "1")
		return err == nil && v.Now >= v.EndsAt
	})
	asks("after the sale ended", 1000, false)
	asks("after the sale ended, marked", 100, true)
	if n := codes(s.crowd(8, freshClicks("1", "e", 20))); n["ended"] != 20 {
		t.Fatalf("others after the end: %v", n)
	}
	s.settled()
}

func TestOneItemBelowZeroTouchesTheOthers(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 1), saleOf("2", 5))
	n := codes(s.crowd(16, freshClicks("1", "u", 50)))
	if n["order"] != 1 || n["sold_out"] != 49 {
		t.Fatalf("item 1: %v", n)
	}
	if got := s.left("2"); got != 5 {
		t.Fatalf("item 2 has %d units left, want 5", got)
	}
	if n := codes(s.crowd(16, freshClicks("2", "v", 8))); n["order"] != 5 || n["sold_out"] != 3 {
		t.Fatalf("item 2: %v", n)
	}
	s.settled()
}

func TestOneFailureIsToldToEveryBuyer(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 50))
	// A key that was used for another item fails; its neighbours in the same
	// rush must not hear of it.
	s.sell(saleOf("2", 1))
	if a := s.buy(click{item: "2", user: "bad", key: "used"}); a.status != 201 {
		t.Fatal(a.String())
	}
	clicks := append(freshClicks("1", "good", 40), click{item: "1", user: "bad", key: "used"})
	answers := s.crowd(41, clicks)
	if n := codes(answers); n["order"] != 40 || n["idempotency_mismatch"] != 1 {
		t.Fatalf("answers: %v", n)
	}
	s.settled()
}

func TestLimitOfOneDefeatedByQuantity(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	sale := saleOf("1", 100)
	sale.PerUser = 2
	s.sell(sale)
	for _, body := range []string{
		`{"qty":0}`, `{"qty":-1}`, `{"qty":1.5}`, `{"qty":"1"}`, `{"qty":null}`, `{"qty":1e3}`, `{"qty":99999999999999999999}`,
		`{"qty":1000001}`, `{"qty":true}`, `{"qty":[1]}`, `{"quantity":1}`, `{"qty":1,"price":0}`, `[]`, `1`, `{`, `{"qty":1}{"qty":1}`,
	} {
		if a := s.buy(click{item: "1", user: "u", key: "bad", body: body}); a.status != 400 || a.Code != "bad_request" {
			t.Errorf("%s: %s, want 400", body, a.String())
		}
	}
	if a := s.buy(click{item: "1", user: "u", key: "a", body: `{"qty":100}`}); a.Code != "duplicate" {
		t.Errorf("100 of a limit of 2: %s", a.String())
	}
	if a := s.buy(click{item: "1", user: "u", key: "b", body: `{"qty":2}`}); a.status != 201 || a.Qty != 2 || a.AmountCents != 200 {
		t.Errorf("2 of a limit of 2: %s", a.String())
	}
	if a := s.buy(click{item: "1", user: "u", key: "c"}); a.Code != "duplicate" {
		t.Errorf("a third: %s", a.String())
	}
	if s.left("1") != 98 {
		t.Errorf("%d left, want 98", s.left("1"))
	}
	s.settled()
}

func TestRequestsBeforeTheStartReduceTheStock(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	sale := saleOf("1", 5)
	sale.StartsAt = time.Now().Add(5 * time.Minute).UnixMilli() // within preheat_lead: the filter knows it
	s.sell(sale)
	marked := freshClicks("1", "m", 20)
	for i := range marked {
		marked[i].repeat = true // these pass the gateway's own clock and meet the filter's
	}
	for _, a := range s.crowd(16, append(freshClicks("1", "u", 100), marked...)) {
		if a.status != 425 || a.Code != "not_started" || a.StartsAt != sale.StartsAt || a.Now >= a.StartsAt || a.RetryAfter <= 0 {
			t.Fatalf("a direct purchase before the start: %s", a.String())
		}
	}
	if s.left("1") != 5 {
		t.Fatalf("%d left, want 5", s.left("1"))
	}
	s.settled()
}

// deaf is a filter that answers after the caller has stopped listening: what it
// was asked has happened, and nobody knows.
type deaf struct {
	lua.Filter
	on atomic.Bool
}

func (d *deaf) Admit(ctx context.Context, b lua.Batch) (lua.Reply, error) {
	r, err := d.Filter.Admit(ctx, b)
	if d.on.Load() {
		return lua.Reply{}, errors.New("the reply was lost")
	}
	return r, err
}

func TestLostReplyLeavesFilterAndSQLApart(t *testing.T) {
	d := &deaf{}
	s := openShop(t, shopOptions{flags: wideOpen, wrap: func(f lua.Filter) lua.Filter { d.Filter = f; return d }})
	s.sell(saleOf("1", 30))
	d.on.Store(true)
	if n := codes(s.crowd(8, freshClicks("1", "u", 20))); n["order"] != 20 {
		t.Fatalf("with every reply lost: %v, want 20 orders on the DB path", n)
	}
	d.on.Store(false)
	s.settled()
	if s.left("1") != 10 {
		t.Fatalf("%d left, want 10", s.left("1"))
	}
}

func TestAdmittedBuyerWhoGivesUpStrandsTheUnit(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 1))
	v, err := s.backend.Store.Sale(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	// Admitted, and its gateway dies before the backend hears of it.
	r, err := s.filter.Admit(t.Context(), lua.Batch{Item: "1", Epoch: v.Epoch, Requests: []lua.Request{{User: "gone", BizID: "gone", Qty: 1}}})
	if err != nil || r.Verdicts[0] != lua.Admitted {
		t.Fatal(r, err)
	}
	if a := s.buy(click{item: "1", user: "u", key: "k"}); a.Code != "sold_out" {
		t.Fatalf("the unit is taken for now: %s", a.String())
	}
	s.eventually("the unit is on offer again", func() bool {
		return s.buy(freshClicks("1", "v", 1)[0]).status == 201
	})
	s.settled()
}

func TestItemAddedWhileRunningIsNeverPreheated(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	if err := s.backend.Store.Create(t.Context(), saleOf("new", 3)); err != nil {
		t.Fatal(err)
	}
	s.eventually("the filter knows it", func() bool {
		v, err := s.filter.View(t.Context(), "new", false)
		return err == nil && v.Epoch != 0 && !v.Stale && v.Stock == 3
	})
	s.eventually("the gateway lists it", func() bool { return s.get("/items/new", "").status == 200 })
	if n := codes(s.crowd(8, freshClicks("new", "u", 10))); n["order"] != 3 || n["sold_out"] != 7 {
		t.Fatalf("answers: %v", n)
	}
	s.settled()
}

func TestPaymentAfterTheUnitsWentBack(t *testing.T) {
	flags := map[string]string{"orders.pay_within": "1s"}
	maps.Copy(flags, wideOpen)
	s := openShop(t, shopOptions{flags: flags})
	s.sell(saleOf("1", 1))
	o := s.buy(click{item: "1", user: "slow", key: "k"})
	if o.status != 201 {
		t.Fatal(o.String())
	}
	s.eventually("the order expires", func() bool { return s.get("/orders/"+o.OrderID, "slow").State == api.StateExpired })
	next := s.buy(click{item: "1", user: "quick", key: "k"})
	s.eventually("the unit sells again", func() bool {
		if next.status != 201 {
			next = s.buy(freshClicks("1", "q", 1)[0])
		}
		return next.status == 201
	})
	if late := s.post("/orders/"+o.OrderID+"/pay", "slow"); late.status != 409 || late.Code != "order_state" || late.State != api.StateExpired {
		t.Fatalf("late payment: %s", late.String())
	}
	if active, _ := s.activeOrders("1"); active > 1 {
		t.Fatalf("%d units are held of 1", active)
	}
}

func TestCancellingInflatesTheStock(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 10))
	orders := orderIDs(s.crowd(10, freshClicks("1", "u", 10)))
	var wg sync.WaitGroup
	for id, a := range orders {
		for range 4 { // the same order, at the same time
			wg.Go(func() { s.post("/orders/"+id+"/cancel", a.User) })
		}
		wg.Go(func() { s.buy(freshClicks("1", "x", 1)[0]) })
	}
	wg.Wait()
	s.eventually("everything is sold again", func() bool {
		s.crowd(4, freshClicks("1", "w", 4))
		return s.left("1") == 0
	})
	if active, _ := s.activeOrders("1"); active != 10 {
		t.Fatalf("%d units are held of 10", active)
	}
	s.settled()
}

func TestLimitStaysAfterTheOrderWasClosed(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 5))
	o := s.buy(click{item: "1", user: "u", key: "a"})
	if a := s.buy(click{item: "1", user: "u", key: "b"}); a.Code != "duplicate" {
		t.Fatalf("a second while the first stands: %s", a.String())
	}
	if a := s.post("/orders/"+o.OrderID+"/cancel", "someone-else"); a.status != 404 || a.Code != "no_such_order" {
		t.Fatalf("cancelled by another: %s", a.String())
	}
	if a := s.post("/orders/"+o.OrderID+"/cancel", "u"); a.status != 200 || a.State != api.StateCancelled {
		t.Fatalf("cancel: %s", a.String())
	}
	if a := s.buy(click{item: "1", user: "u", key: "c"}); a.status != 201 {
		t.Fatalf("again after cancelling, with a new key: %s", a.String())
	}
	if a := s.buy(click{item: "1", user: "u", key: "a", repeat: true}); a.status != 201 || a.State != api.StateCancelled || a.OrderID != o.OrderID {
		t.Fatalf("the first key: %s, want its order as it stands now", a.String())
	}
	if s.left("1") != 4 {
		t.Fatalf("%d left, want 4", s.left("1"))
	}
	s.settled()
}

// broken is a filter that does not work at all.
type broken struct{ lua.Filter }

func (broken) Admit(context.Context, lua.Batch) (lua.Reply, error) {
	return lua.Reply{}, errors.New("connection refused")
}

func TestFallbackSellsTwiceToParallelFirstPurchases(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen, wrap: func(f lua.Filter) lua.Filter { return broken{f} }})
	s.sell(saleOf("1", 50))
	n := codes(s.crowd(64, twoKeysEach(40)))
	if n["order"] != 40 || n["duplicate"] != 40 {
		t.Fatalf("two clicks each of 40 buyers on the DB path: %v", n)
	}
	if n := codes(s.crowd(64, freshClicks("1", "v", 30))); n["order"] != 10 || n["sold_out"] != 20 {
		t.Fatalf("30 more for 10 units: %v", n)
	}
	// A refused purchase commits nobody's quota.
	b, err := s.backend.Store.Books(t.Context(), "1")
	if err != nil || len(b.QuotaDrift) > 0 {
		t.Fatalf("quota: %v %v", b.QuotaDrift, err)
	}
	s.settled()
}

func TestReseedOverwritesLiveStock(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 100))
	before, err := s.backend.Store.Sale(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if n := codes(s.crowd(16, freshClicks("1", "u", 60))); n["order"] != 60 {
		t.Fatal(n)
	}
	// A seeder that slept since before the sale wakes up: only forward.
	err = s.filter.Seed(t.Context(), lua.Seed{Item: "1", Epoch: before.Epoch, StartsAt: before.StartsAt, EndsAt: before.EndsAt, PerUser: 1, Stock: 100})
	if !errors.Is(err, lua.ErrOlder) {
		t.Fatalf("an old seed was taken: %v", err)
	}
	if n := codes(s.crowd(16, freshClicks("1", "v", 60))); n["order"] != 40 || n["sold_out"] != 20 {
		t.Fatal(n)
	}
	s.settled()
}

func TestEveryKeyReachesAnEnd(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen})
	s.sell(saleOf("1", 5))
	clicks := freshClicks("1", "u", 40)
	s.crowd(16, clicks)
	for i := range clicks {
		clicks[i].repeat = true
	}
	// A repeat's refusal is final in SQL before it is told, so from here on every
	// key has its outcome, and a poller finds it.
	s.crowd(16, clicks)
	orders := 0
	for _, c := range clicks {
		a := s.get("/orders?biz_id="+c.key, c.user)
		switch {
		case a.status == 200 && a.State == api.StateCreated:
			orders++
		case a.status != 200 || a.State != api.StateRefused || a.Code != "sold_out":
			t.Errorf("%s: %s", c.user, a.String())
		}
	}
	if orders != 5 {
		t.Errorf("%d orders, want 5", orders)
	}
	if a := s.get("/orders?biz_id="+clicks[0].key, "someone-else"); a.status != 404 {
		t.Errorf("another user's key: %s", a.String())
	}
	s.settled()
}
