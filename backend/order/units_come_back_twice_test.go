package order_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/store/storetest"
	"rushgate/lua"
)

func TestCancellingGivesBackTwice(t *testing.T) {
	f := openFiltered(t, 10)
	o := f.buy("u", "k")
	f.agreed(9)
	got, err := f.life.Cancel(t.Context(), "u", o.OrderID)
	if err != nil || got.State != api.StateCancelled || got.OrderID != o.OrderID {
		t.Fatalf("cancelling: %+v, %v", got, err)
	}
	f.agreed(10)
	for range 3 {
		if _, err := f.life.Cancel(t.Context(), "u", o.OrderID); !inState(err, api.StateCancelled) {
			t.Errorf("cancelling again: %v, want order_state cancelled", err)
		}
	}
	if _, err := f.life.Pay(t.Context(), "u", o.OrderID); !inState(err, api.StateCancelled) {
		t.Errorf("paying what was cancelled: %v, want order_state cancelled", err)
	}
	f.wait(2 * payWithin)
	if n, err := f.life.ExpireDue(t.Context()); n != 0 || err != nil {
		t.Errorf("expired %d, %v; want nothing", n, err)
	}
	f.agreed(10)
	if again := f.order(o.BizID, "u"); again.State != api.StateCancelled {
		t.Errorf("the key now says %+v, want the cancelled order", again)
	}
}

// order is what a repeat of the key is told.
func (f *filtered) order(bizID, user string) api.Order {
	f.t.Helper()
	o, err := f.Place(f.t.Context(), buy("1", user, bizID, 1))
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func TestLimitStaysAfterTheOrderWasClosed(t *testing.T) {
	f := openFiltered(t, 10)
	o := f.buy("u", "one")
	if verdict, _ := f.admit("u", "two"); verdict != lua.Duplicate {
		t.Fatalf("a second within a limit of one: %v", verdict)
	}
	if _, err := f.life.Cancel(t.Context(), "u", o.OrderID); err != nil {
		t.Fatal(err)
	}
	second := f.buy("u", "three")
	f.agreed(9)
	f.wait(payWithin)
	if n, err := f.life.ExpireDue(t.Context()); n != 1 || err != nil {
		t.Fatalf("expired %d, %v; want the one", n, err)
	}
	if got, err := f.store.Find(t.Context(), "u", second.BizID); err != nil || got.State != api.StateExpired {
		t.Errorf("after its time: %+v, %v", got, err)
	}
	f.agreed(10)
	f.buy("u", "four")
	f.agreed(9)
}

func TestLatePayment(t *testing.T) {
	f := openFiltered(t, 10)
	o := f.buy("u", "k")
	f.wait(payWithin - time.Millisecond)
	intime := f.buy("v", "k")
	if paid, err := f.life.Pay(t.Context(), "u", o.OrderID); err != nil || paid.State != api.StatePaid {
		t.Fatalf("in the last millisecond: %+v, %v", paid, err)
	}
	if _, err := f.life.Pay(t.Context(), "u", o.OrderID); !inState(err, api.StatePaid) {
		t.Errorf("paying twice: %v, want order_state paid", err)
	}
	if _, err := f.life.Cancel(t.Context(), "u", o.OrderID); !inState(err, api.StatePaid) {
		t.Errorf("cancelling what is paid: %v, want order_state paid", err)
	}
	f.wait(payWithin)
	if _, err := f.life.Pay(t.Context(), "v", intime.OrderID); !inState(err, api.StateExpired) {
		t.Errorf("too late, before the expiry came by: %v, want order_state expired", err)
	}
	if n, err := f.life.ExpireDue(t.Context()); n != 1 || err != nil {
		t.Errorf("expired %d, %v; want the unpaid one", n, err)
	}
	if _, err := f.life.Pay(t.Context(), "v", intime.OrderID); !inState(err, api.StateExpired) {
		t.Errorf("after the units went back: %v, want order_state expired", err)
	}
	f.agreed(9)
}

func TestAnotherUsersOrder(t *testing.T) {
	f := openFiltered(t, 10)
	o := f.buy("u", "k")
	refused := buy("1", "r", "k", 1)
	refused.Path, refused.Code = api.PathRefuse, api.SoldOut
	if _, err := f.Place(t.Context(), refused); !refusedWith(err, api.SoldOut) {
		t.Fatal(err)
	}
	for _, id := range []string{o.OrderID, "1", "0", "-5", "07", "+7", "x", "", "9223372036854775808"} {
		if _, err := f.life.Pay(t.Context(), "thief", id); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("paying %q of another: %v", id, err)
		}
		if _, err := f.life.Cancel(t.Context(), "thief", id); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("cancelling %q of another: %v", id, err)
		}
	}
	f.agreed(9)
}

// More than one batch expires in one go, and each order once.
func TestMoreThanABatchExpires(t *testing.T) {
	f := openFiltered(t, 300)
	_, errs := together(t.Context(), f.Placer, users(220))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	f.wait(payWithin)
	if n, err := f.life.ExpireDue(t.Context()); n != 220 || err != nil {
		t.Fatalf("expired %d, %v; want 220", n, err)
	}
	f.sweep() // the filter had never heard of them
	f.agreed(300)
}

// One order that cannot be given back does not keep the others' units.
func TestDamagedOrderKeepsTheOthersFromExpiring(t *testing.T) {
	f := openFiltered(t, 10)
	for i := range 5 {
		f.buy(fmt.Sprint("u", i), "k")
	}
	storetest.Exec(t, f.file, "UPDATE user_quota SET bought = 0 WHERE user_id = 'u2'")
	f.wait(payWithin)
	n, err := f.life.ExpireDue(t.Context())
	if n != 4 || err == nil {
		t.Errorf("expired %d, %v; want the four others, and an error that names the fifth", n, err)
	}
	if got := left(t, f.store, "1"); got != 9 {
		t.Errorf("%d left, want 9", got)
	}
}
