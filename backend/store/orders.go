package store

import (
	"context"
	"database/sql"
	"errors"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

const selectOrder = "SELECT id, item, user_id, biz_id, qty, amount_cents, state, code, created_at, pay_by FROM orders WHERE "

func scanOrder(scan func(...any) error) (api.Order, error) {
	var o api.Order
	var id int64
	err := scan(&id, &o.Item, &o.User, &o.BizID, &o.Qty, &o.AmountCents, &o.State, &o.Code, &o.CreatedAt, &o.PayBy)
	if o.State != api.StateRefused {
		o.OrderID = order.FormatNumber(id)
	}
	return o, err
}

// order finds one; api.ErrNotFound if there is none.
func (q session) order(ctx context.Context, where string, args ...any) (api.Order, error) {
	o, err := scanOrder(func(into ...any) error { return q.one(ctx, selectOrder+where, args, into...) })
	if errors.Is(err, sql.ErrNoRows) {
		return api.Order{}, api.ErrNotFound
	}
	return o, err
}

// Find returns the outcome of (user, biz_id), a recorded refusal too;
// api.ErrNotFound if there is none.
func (s *Store) Find(ctx context.Context, user, bizID string) (api.Order, error) {
	return s.reading().order(ctx, "user_id = ? AND biz_id = ?", user, bizID)
}

// Get returns an order of this user; api.ErrNotFound for another user's and for
// a recorded refusal, which has no number that anyone was told.
func (s *Store) Get(ctx context.Context, user string, id int64) (api.Order, error) {
	return s.reading().order(ctx, "id = ? AND user_id = ? AND state <> 'refused'", id, user)
}

// Pay implements order.LifeStore.
func (s *Store) Pay(ctx context.Context, user string, id int64) (o api.Order, changed bool, err error) {
	now := s.clock()
	query := "UPDATE orders SET state = 'paid', changed_at = " + now + " WHERE id = ? AND user_id = ? AND state = 'created' AND pay_by > " + now
	err = s.inTx(ctx, func(q session) error {
		n, err := q.exec(ctx, query, id, user)
		if err != nil {
			return err
		}
		if changed = n == 1; changed {
			if err = s.event(ctx, q, id, api.StatePaid); err != nil {
				return err
			}
		}
		o, err = q.order(ctx, "id = ? AND user_id = ? AND state <> 'refused'", id, user)
		return err
	})
	return o, changed, err
}

// Cancel implements order.LifeStore.
func (s *Store) Cancel(ctx context.Context, user string, id int64) (o api.Order, changed bool, err error) {
	err = s.inTx(ctx, func(q session) (err error) {
		if o, err = q.order(ctx, "id = ? AND user_id = ? AND state <> 'refused'", id, user); err != nil {
			return err
		}
		if changed, err = s.endUnpaid(ctx, q, id, &o, api.StateCancelled); err != nil {
			return err
		}
		if changed {
			if err = s.offerAgain(ctx, q, o.Item, int64(o.Qty)); err != nil {
				return err
			}
		}
		o, err = q.order(ctx, "id = ?", id)
		return err
	})
	return o, changed, err
}
