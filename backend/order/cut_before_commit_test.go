package order_test

import (
	"errors"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// The connection breaks before the commit is there. From this side that looks like
// a lost answer: no order may be told of, and the same key makes exactly one.
func TestConnectionBreaksBeforeTheCommit(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		p := buy("1", "u", "k", 1)
		w.wire.LoseBeforeCommit()
		if o, err := w.Place(t.Context(), p); !errors.Is(err, api.ErrUnknown) {
			t.Errorf("told %+v, %v; want unknown", o, err)
		}
		if n := w.wire.Lost(); n != 1 {
			t.Fatalf("%d lost, want the commit", n)
		}
		w.isNot(t, p, 10)
		o := w.places(t, p)
		w.is(t, p, o, 9)
		if again := w.places(t, p); again != o {
			t.Errorf("again with the same key: %+v, told was %+v", again, o)
		}
		w.is(t, p, o, 9)
	})
}

// A connection that breaks earlier proves that nothing was done: the transaction
// is made anew on another.
func TestConnectionBreaksInsideTheTransaction(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		w.faults.write = func(order.Write) error {
			if w.faults.updates.Load() == 1 {
				w.wire.Break()
			}
			return nil
		}
		p := buy("1", "u", "k", 1)
		w.is(t, p, w.places(t, p), 9)
		if n := w.faults.updates.Load(); n != 2 {
			t.Errorf("%d transactions, want two", n)
		}
	})
}
