package order_test

import (
	"errors"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/store/storetest"
)

// The server commits and the connection breaks in place of its answer: the outcome
// is looked up on a fresh connection, and told.
func TestServerLosesTheAnswerOfACommit(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		p := buy("1", "u", "k", 1)
		w.wire.LoseCommit()
		o := w.places(t, p)
		if n := w.wire.Lost(); n != 1 {
			t.Fatalf("%d answers lost, want that of the commit", n)
		}
		if n := w.faults.updates.Load(); n != 1 {
			t.Errorf("%d transactions, want one", n)
		}
		w.is(t, p, o, 9)
		if again := w.places(t, p); again != o {
			t.Errorf("again with the same key: %+v, told was %+v", again, o)
		}
		w.is(t, p, o, 9)
	})
}

func TestServerLosesTheAnswerForAGroup(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		w.wire.LoseCommit()
		group := users(8)
		orders, errs := together(t.Context(), w.Placer, group)
		if n := w.wire.Lost(); n != 1 {
			t.Fatalf("%d answers lost, want that of one commit", n)
		}
		for i, p := range group {
			if errs[i] != nil {
				t.Errorf("%s was told %v, want the order", p.Key.User, errs[i])
				continue
			}
			w.is(t, p, orders[i], 2)
		}
	})
}

// Where nobody can be asked, nothing is claimed. The same key gets the truth later.
func TestServerIsGoneAfterACommit(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		p := buy("1", "u", "k", 1)
		w.wire.LoseCommit()
		w.wire.Refuse(true) // the transaction's own connection is there already
		if o, err := w.Place(t.Context(), p); !errors.Is(err, api.ErrUnknown) || errors.Is(err, api.ErrFailed) {
			t.Errorf("told %+v, %v; want unknown", o, err)
		}
		w.has(t, 9)
		w.wire.Refuse(false)
		w.is(t, p, w.places(t, p), 9)
	})
}
