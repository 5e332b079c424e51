package order_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// refusedWith says whether err is a refusal with this code.
func refusedWith(err error, code api.Code) bool {
	r, ok := errors.AsType[*api.Refusal](err)
	return ok && r.Code == code
}

func TestHundredUnitsToAThousandBuyers(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 100, 1)
	sh := open(t, s, nil)
	_, errs := together(t.Context(), sh.Placer, users(1000))
	sold := 0
	for _, err := range errs {
		switch {
		case err == nil:
			sold++
		case !refusedWith(err, api.SoldOut):
			t.Fatalf("a loser was told %v, want sold_out", err)
		}
	}
	if sold != 100 || left(t, s, "1") != 0 {
		t.Fatalf("sold %d, left %d; want 100 and 0", sold, left(t, s, "1"))
	}
	clean(t, s)
}

// Exactly as many units are sold as there are, or as are wanted: never one more,
// and not one fewer that a request still fits.
func TestExactlyAsManyUnitsAsThereAre(t *testing.T) {
	s := storetest.Open(t, nil)
	sh := open(t, s, nil)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		item := fmt.Sprint("item", run)
		units := rapid.Int64Range(0, 1000).Draw(rt, "units")
		perUser := rapid.Int64Range(1, 4).Draw(rt, "per_user")
		create(t, s, item, units, perUser)
		wants := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) order.Purchase {
			user := "u" + rapid.StringMatching("[0-9]{1,2}").Draw(rt, "user")
			return buy(item, user, item+rapid.StringMatching("[a-z]").Draw(rt, "key"), rapid.Int64Range(1, 5).Draw(rt, "qty"))
		}), 1, 100).Draw(rt, "wants")
		orders, errs := together(context.Background(), sh.Placer, wants)

		sold, held, distinct := int64(0), map[string]int64{}, map[string]bool{}
		for i, err := range errs {
			switch {
			case err == nil && !distinct[orders[i].OrderID]:
				distinct[orders[i].OrderID] = true
				sold += wants[i].Qty
				held[wants[i].Key.User] += wants[i].Qty
			case err == nil, refusedWith(err, api.SoldOut), refusedWith(err, api.Duplicate), errors.Is(err, api.ErrMismatch):
			default:
				rt.Fatalf("answer %v", err)
			}
		}
		remain := left(t, s, item)
		if sold > units || remain != units-sold {
			rt.Fatalf("%d units, %d sold, %d left", units, sold, remain)
		}
		for user, n := range held {
			if n > perUser {
				rt.Fatalf("%s holds %d, limit %d", user, n, perUser)
			}
		}
		for i, err := range errs {
			if refusedWith(err, api.SoldOut) && wants[i].Qty <= remain {
				rt.Fatalf("told sold_out for %d with %d left at the end, when nothing came back", wants[i].Qty, remain)
			}
		}
	})
	clean(t, s)
}

func TestOneKeyOneOutcome(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 5, 5)
	create(t, s, "2", 5, 5)
	sh := open(t, s, nil)
	ps := make([]order.Purchase, 1000)
	for i := range ps {
		ps[i] = buy("1", "u", "k", 1)
	}
	orders, errs := together(t.Context(), sh.Placer, ps)
	for i := range ps {
		if errs[i] != nil || orders[i] != orders[0] {
			t.Fatalf("answer %d: %v %v, want %v", i, orders[i], errs[i], orders[0])
		}
	}
	if got := left(t, s, "1"); got != 4 {
		t.Fatalf("left %d, want 4", got)
	}
	for name, other := range map[string]order.Purchase{"quantity": buy("1", "u", "k", 2), "item": buy("2", "u", "k", 1)} {
		if _, err := sh.Place(t.Context(), other); !errors.Is(err, api.ErrMismatch) {
			t.Errorf("same key, other %s: %v, want a mismatch", name, err)
		}
	}
	if o, err := sh.Place(t.Context(), buy("1", "v", "k", 1)); err != nil || o.User != "v" {
		t.Errorf("another user's key is another key: %v %v", o, err)
	}
	clean(t, s)
}

// The limit of one is not defeated by a quantity, by many keys, or by two first
// purchases at the same time.
func TestLimitCountsUnits(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 100, 2)
	sh := open(t, s, nil)
	if _, err := sh.Place(t.Context(), buy("1", "u", "big", 3)); !refusedWith(err, api.Duplicate) {
		t.Fatalf("3 of 2: %v", err)
	}
	ps := make([]order.Purchase, 50)
	for i := range ps {
		ps[i] = buy("1", "u", string(rune('A'+i)), 1)
	}
	_, errs := together(t.Context(), sh.Placer, ps)
	sold := 0
	for _, err := range errs {
		if err == nil {
			sold++
		}
	}
	if sold != 2 || left(t, s, "1") != 98 {
		t.Fatalf("one user got %d of a limit of 2, %d left", sold, left(t, s, "1"))
	}
	if _, err := sh.Place(t.Context(), buy("1", "u", "huge", math.MaxInt64)); !refusedWith(err, api.Duplicate) {
		t.Errorf("a quantity that overflows with what the user has: %v, want duplicate", err)
	}
	clean(t, s)
}

func TestStaleTicketBecomesNoOrder(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 10, 1)
	sh := open(t, s, nil)
	v, _ := s.Sale(t.Context(), "1")
	p := buy("1", "u", "k", 1)
	p.Path, p.Epoch = api.PathRedis, v.Epoch
	epoch, ok, err := s.RaiseEpoch(t.Context(), "1", v.Epoch, 0, 5000)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var stale *api.Stale
	if _, err := sh.Place(t.Context(), p); !errors.As(err, &stale) || stale.Epoch != epoch || stale.ReseedUntil == 0 {
		t.Fatalf("got %v, want stale with epoch %d and a lease", err, epoch)
	}
	p.Epoch = epoch
	if _, err := sh.Place(t.Context(), p); err != nil {
		t.Fatalf("under the new epoch: %v", err)
	}
	p.Epoch = v.Epoch
	if o, err := sh.Place(t.Context(), p); err != nil || o.OrderID == "" {
		t.Fatalf("an outcome is told under any epoch: %v", err)
	}
}

// A refusal that was made final holds against a copy of the request that was
// under way, and an order that is there is the answer instead of a refusal.
func TestLateCopyOfARefusedKeyBecomesNoOrder(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 10, 1)
	sh := open(t, s, nil)
	refuse := buy("1", "u", "k", 1)
	refuse.Path, refuse.Code = api.PathRefuse, api.SoldOut
	if _, err := sh.Place(t.Context(), refuse); !refusedWith(err, api.SoldOut) {
		t.Fatalf("recording: %v", err)
	}
	if _, err := sh.Place(t.Context(), buy("1", "u", "k", 1)); !refusedWith(err, api.SoldOut) {
		t.Fatalf("late copy: %v, want the recorded refusal", err)
	}
	if left(t, s, "1") != 10 {
		t.Fatal("a refused key took units")
	}
	if _, err := sh.Place(t.Context(), buy("1", "v", "k", 1)); err != nil {
		t.Fatal(err)
	}
	refuse.Key.User = "v"
	if o, err := sh.Place(t.Context(), refuse); err != nil || o.OrderID == "" {
		t.Fatalf("refusing a key with an order: %v %v, want the order", o, err)
	}
	clean(t, s)
}

func TestTicketAfterItsTime(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 10, 1)
	sh := open(t, s, nil)
	p := buy("1", "u", "k", 1)
	p.Exp = time.Now().Add(-time.Millisecond).UnixMilli()
	if _, err := sh.Place(t.Context(), p); !errors.Is(err, api.ErrTicketExpired) || !errors.Is(err, api.ErrFailed) {
		t.Fatalf("got %v, want an expired ticket, definitely not done", err)
	}
	if _, err := s.Find(t.Context(), "u", "k"); !errors.Is(err, api.ErrNotFound) {
		t.Fatalf("an expired ticket left a trace: %v", err)
	}
}

func TestDirectPurchaseOutsideTheWindow(t *testing.T) {
	s := storetest.Open(t, nil)
	now := time.Now().UnixMilli()
	early, late, paused := storetest.Sale("early", 5), storetest.Sale("late", 5), storetest.Sale("paused", 5)
	early.StartsAt = now + 600_000
	late.StartsAt, late.EndsAt = now-60_000, now-1
	storetest.Create(t, s, early, late, paused)
	if err := s.SetPaused(t.Context(), "paused", true); err != nil {
		t.Fatal(err)
	}
	sh := open(t, s, nil)
	for item, code := range map[string]api.Code{"early": api.NotStarted, "late": api.Ended, "paused": api.Paused} {
		if _, err := sh.Place(t.Context(), buy(item, "u", item, 1)); !refusedWith(err, code) {
			t.Errorf("%s: %v, want %s", item, err, code)
		}
		_, err := s.Find(t.Context(), "u", item)
		if recorded := err == nil; recorded != code.Final() {
			t.Errorf("%s: recorded %v; only a definite refusal is", item, recorded)
		}
	}
	if _, err := sh.Place(t.Context(), buy("nothing", "u", "k", 1)); !errors.Is(err, order.ErrNoSale) {
		t.Errorf("no such sale: %v", err)
	}
}
