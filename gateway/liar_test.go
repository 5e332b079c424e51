package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"rushgate/backend/store/storetest"
	"rushgate/lua"
)

// liar is a filter that is wrong. It answers instead of the one behind it as
// lie says; the epoch stays true, or nothing would be believed.
type liar struct {
	lua.Filter
	lie func(lua.Batch, *lua.Reply)
}

func (l *liar) Admit(ctx context.Context, b lua.Batch) (lua.Reply, error) {
	r, err := l.Filter.Admit(ctx, b)
	if err == nil {
		l.lie(b, &r)
	}
	return r, err
}

func lying(lie func(lua.Batch, *lua.Reply)) func(lua.Filter) lua.Filter {
	return func(f lua.Filter) lua.Filter { return &liar{f, lie} }
}

// everyone is admitted, whatever they have and whatever is left.
func everyone(_ lua.Batch, r *lua.Reply) {
	for i := range r.Verdicts {
		if r.Verdicts[i] != lua.Stale {
			r.Verdicts[i] = lua.Admitted
		}
	}
	r.Left, r.Buyers = 1<<40, nil
}

// twoKeysEach is one click of every user on item 1, then another with another key.
func twoKeysEach(users int) []click {
	clicks := make([]click, 0, 2*users)
	for _, key := range []string{"a", "b"} {
		for u := range users {
			user := fmt.Sprintf("u%d", u)
			clicks = append(clicks, click{item: "1", user: user, key: user + key})
		}
	}
	return clicks
}

// sellOut opens a shop with a filter that lies, and lets 600 users click twice
// each on 100 units.
func sellOut(t *testing.T, lie func(lua.Batch, *lua.Reply)) (*shop, []answer) {
	t.Helper()
	s := openShop(t, shopOptions{flags: wideOpen, wrap: lying(lie)})
	s.sell(saleOf("1", 100))
	return s, s.crowd(64, twoKeysEach(600))
}

// onceEach fails unless exactly the units are sold, once a buyer.
func onceEach(t *testing.T, s *shop, answers []answer) {
	t.Helper()
	orders := orderIDs(answers)
	buyers := map[string]bool{}
	for _, a := range orders {
		buyers[a.User] = true
	}
	if len(orders) != 100 || len(buyers) != 100 || s.left("1") != 0 {
		t.Errorf("%d orders for %d buyers, %d units left; want 100, 100, 0", len(orders), len(buyers), s.left("1"))
	}
	each201HasItsRow(t, s, answers)
	s.settled()
}

func TestFilterThatAdmitsEveryone(t *testing.T) {
	s, answers := sellOut(t, everyone)
	onceEach(t, s, answers)
}

func TestFilterThatSellsEachUnitTwice(t *testing.T) {
	var extra atomic.Int64
	s, answers := sellOut(t, func(_ lua.Batch, r *lua.Reply) {
		for i, v := range r.Verdicts {
			if v == lua.SoldOut && extra.Add(1) <= 100 {
				r.Verdicts[i] = lua.Admitted
			}
		}
	})
	onceEach(t, s, answers)
	if extra.Load() == 0 {
		t.Error("the filter never had to lie, so nothing was tested")
	}
}

func TestFilterThatAdmitsNobodyForAWhile(t *testing.T) {
	var asked atomic.Int64
	s, answers := sellOut(t, func(_ lua.Batch, r *lua.Reply) {
		if asked.Add(1) > 3 {
			return
		}
		for i := range r.Verdicts {
			r.Verdicts[i] = lua.SoldOut
		}
		r.Left, r.Buyers = 0, map[string]struct{}{}
	})
	// The false "sold out" is short: whoever comes back finds the units.
	s.eventually("everything is sold", func() bool {
		answers = append(answers, s.crowd(16, freshClicks("1", "later", 50))...)
		return s.left("1") == 0
	})
	onceEach(t, s, answers)
}

// The controls: the same rush with one of SQL's guards sabotaged. They show that
// the tests above can fail, and that the audit says so when they would.

func TestControlWithoutTheGuardOnUnits(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen, wrap: lying(everyone)})
	s.sell(saleOf("1", 100))
	storetest.Exec(t, s.database(), `CREATE TRIGGER no_unit_guard AFTER UPDATE OF num ON sales BEGIN UPDATE sales SET num = 100 WHERE item = NEW.item; END`)
	answers := s.crowd(64, twoKeysEach(600))
	if n := len(orderIDs(answers)); n <= 100 {
		t.Errorf("without the guard %d orders were made of 100 units: the rush would not have shown an oversell", n)
	}
	s.finds("oversell")
}

func TestControlWithoutTheQuotaRow(t *testing.T) {
	s := openShop(t, shopOptions{flags: wideOpen, wrap: lying(everyone)})
	s.sell(saleOf("1", 1000))
	storetest.Exec(t, s.database(), `CREATE TRIGGER no_quota AFTER INSERT ON user_quota BEGIN DELETE FROM user_quota WHERE item = NEW.item AND user_id = NEW.user_id; END`)
	buyers, orders := map[string]bool{}, orderIDs(s.crowd(64, twoKeysEach(300)))
	for _, a := range orders {
		buyers[a.User] = true
	}
	if len(orders) <= len(buyers) {
		t.Errorf("without the quota row %d buyers have %d orders: the rush would not have shown a duplicate", len(buyers), len(orders))
	}
	s.finds("over_limit")
}

// finds fails unless the audit names a class.
func (s *shop) finds(class string) {
	s.t.Helper()
	for _, f := range s.audit(nil) {
		if f.Class == class {
			return
		}
	}
	s.t.Errorf("the audit did not find %s", class)
}
