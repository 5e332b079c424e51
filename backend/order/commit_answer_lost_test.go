package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

func TestAnswerOfACommitLost(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 10, 1)
	st := &faulty{Store: s, update: committedSilently}
	sh := open(t, s, func(o *order.Options) { o.Store = st })
	o, err := sh.Place(t.Context(), buy("1", "u", "k", 1))
	if err != nil || o.State != api.StateCreated {
		t.Fatalf("committed, answer lost: %+v, %v; want the order that is there", o, err)
	}
	if there, err := s.Find(t.Context(), "u", "k"); err != nil || there != o {
		t.Errorf("SQL has %+v, %v; told was %+v", there, err, o)
	}
	if got := left(t, s, "1"); got != 9 {
		t.Errorf("%d left, want 9", got)
	}
	clean(t, s)
}

// None found proves nothing: the commit may still be on its way. Asking again
// with the same key gets the truth.
func TestCommitThatMayStillArrive(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 10, 1)
	st := &faulty{Store: s, update: lostCommit}
	sh := open(t, s, func(o *order.Options) { o.Store = st })
	p := buy("1", "u", "k", 1)
	if _, err := sh.Place(t.Context(), p); !errors.Is(err, api.ErrUnknown) || errors.Is(err, api.ErrFailed) {
		t.Fatalf("told %v, want unknown", err)
	}
	if got := sh.heard.results("unknown"); got != 1 {
		t.Errorf("%d counted as unknown, want 1", got)
	}
	st.update = nil
	if o, err := sh.Place(t.Context(), p); err != nil || o.OrderID == "" {
		t.Fatalf("again with the same key: %+v, %v", o, err)
	}
	clean(t, s)
}

func TestLookUpAfterALostCommitFails(t *testing.T) {
	s := storetest.Open(t, nil)
	create(t, s, "1", 10, 1)
	st := &faulty{Store: s, update: committedSilently, outcome: func(context.Context) error { return errors.New("no route to host") }}
	sh := open(t, s, func(o *order.Options) { o.Store = st })
	p := buy("1", "u", "k", 1)
	if _, err := sh.Place(t.Context(), p); !errors.Is(err, api.ErrUnknown) {
		t.Fatalf("told %v, want unknown", err)
	}
	st.update, st.outcome = nil, nil
	o, err := sh.Place(t.Context(), p)
	there, ferr := s.Find(t.Context(), "u", "k")
	if err != nil || ferr != nil || o != there || left(t, s, "1") != 9 {
		t.Fatalf("again with the same key: %+v, %v; SQL has %+v, %v, and %d left", o, err, there, ferr, left(t, s, "1"))
	}
	clean(t, s)
}

// A lost commit puts in doubt what it would have written, and nothing else.
func TestLostCommitDoubtsItsNeighbours(t *testing.T) {
	var stale *api.Stale
	old := buy("1", "behind", "k", 1)
	old.Path, old.Epoch = api.PathRedis, 1
	late := buy("1", "late", "k", 1)
	late.Exp = 1
	group := []order.Purchase{buy("1", "fresh", "k", 1), old, late, buy("1", "fresh", "k", 1), buy("1", "first", "k", 1)}
	losing := func(st *faulty) { st.update = lostCommit }
	grouped(t, losing, group, func(t *testing.T, _ *shop, _ []api.Order, errs []error) {
		for i, told := range []bool{
			errors.Is(errs[0], api.ErrUnknown),
			errors.As(errs[1], &stale),
			errors.Is(errs[2], api.ErrTicketExpired) && !errors.Is(errs[2], api.ErrUnknown),
			errors.Is(errs[3], api.ErrUnknown), // rests on what the commit would have written
			errs[4] == nil,                     // was there before
		} {
			if !told {
				t.Errorf("member %d was told %v", i, errs[i])
			}
		}
	})
}

// The look-ups of a group share one bound: a database that hangs holds its lock
// and its lane no longer for many than for one.
func TestLookUpsOfAGroupAddUp(t *testing.T) {
	var start time.Time
	hanging := func(st *faulty) {
		start = time.Now()
		st.update = committedSilently
		st.outcome = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	grouped(t, hanging, users(50), func(t *testing.T, _ *shop, _ []api.Order, errs []error) {
		for i, err := range errs {
			if !errors.Is(err, api.ErrUnknown) {
				t.Fatalf("member %d was told %v, want unknown", i, err)
			}
		}
		if took := time.Since(start); took > 2*time.Second { // by the clock of the bubble
			t.Errorf("fifty look-ups took %v, want the bound of one", took)
		}
	})
}
