package order_test

import (
	"context"
	"errors"
	"sync/atomic"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

// faulty is a real store with faults put in. Nil fields change nothing.
type faulty struct {
	order.Store
	updates atomic.Int64

	// update stands in for Update; commit makes the real one.
	update func(ctx context.Context, commit func(f func(order.Tx) error) error, f func(order.Tx) error) error
	// write is asked before each Write; an error of it is the Write's.
	write func(w order.Write) error
	// outcome is asked before each Outcome; an error of it is the Outcome's.
	outcome func(ctx context.Context) error
}

func (s *faulty) Update(ctx context.Context, f func(order.Tx) error) error {
	s.updates.Add(1)
	commit := func(f func(order.Tx) error) error {
		return s.Store.Update(ctx, func(tx order.Tx) error { return f(&faultyTx{tx, s.write}) })
	}
	if s.update != nil {
		return s.update(ctx, commit, f)
	}
	return commit(f)
}

func (s *faulty) Outcome(ctx context.Context, k order.Key) (api.Order, error) {
	if s.outcome != nil {
		if err := s.outcome(ctx); err != nil {
			return api.Order{}, err
		}
	}
	return s.Store.Outcome(ctx, k)
}

type faultyTx struct {
	order.Tx
	write func(order.Write) error
}

func (tx *faultyTx) Write(ctx context.Context, w order.Write) error {
	if tx.write != nil {
		if err := tx.write(w); err != nil {
			return err
		}
	}
	return tx.Tx.Write(ctx, w)
}

// committedSilently commits, and loses the answer.
func committedSilently(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
	if err := commit(f); err != nil {
		return err
	}
	return order.ErrCommit
}

// lostCommit does not commit, and nobody can tell.
func lostCommit(_ context.Context, commit func(func(order.Tx) error) error, f func(order.Tx) error) error {
	undo := errors.New("the connection broke")
	err := commit(func(tx order.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return undo
	})
	if errors.Is(err, undo) {
		return order.ErrCommit
	}
	return err
}
