package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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

func findOrder(ctx context.Context, q querier, where string, args ...any) (api.Order, error) {
	o, err := scanOrder(q.QueryRowContext(ctx, selectOrder+where, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return api.Order{}, api.ErrNotFound
	}
	return o, err
}

// Find returns the outcome of (user, biz_id), a recorded refusal too;
// api.ErrNotFound if there is none.
func (s *Store) Find(ctx context.Context, user, bizID string) (api.Order, error) {
	return findOrder(ctx, s.read, "user_id = ? AND biz_id = ?", user, bizID)
}

// Get returns an order of this user; api.ErrNotFound for another user's and for
// a recorded refusal, which has no number that anyone was told.
func (s *Store) Get(ctx context.Context, user string, id int64) (api.Order, error) {
	return findOrder(ctx, s.read, "id = ? AND user_id = ? AND state <> 'refused'", id, user)
}

// Pay implements order.LifeStore.
func (s *Store) Pay(ctx context.Context, user string, id int64) (o api.Order, changed bool, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		now := s.NowMS()
		n, err := rows(tx.ExecContext(ctx, "UPDATE orders SET state = 'paid', changed_at = ? WHERE id = ? AND user_id = ? AND state = 'created' AND pay_by > ?", now, id, user, now))
		if err != nil {
			return err
		}
		if changed = n == 1; changed {
			if err = event(ctx, tx, id, api.StatePaid, now); err != nil {
				return err
			}
		}
		o, err = findOrder(ctx, tx, "id = ? AND user_id = ? AND state <> 'refused'", id, user)
		return err
	})
	return o, changed, err
}

// Cancel implements order.LifeStore.
func (s *Store) Cancel(ctx context.Context, user string, id int64) (o api.Order, changed bool, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		if o, err = findOrder(ctx, tx, "id = ? AND user_id = ? AND state <> 'refused'", id, user); err != nil {
			return err
		}
		if changed, err = s.giveBack(ctx, tx, id, &o, api.StateCancelled); err != nil {
			return err
		}
		o, err = findOrder(ctx, tx, "id = ?", id)
		return err
	})
	return o, changed, err
}

// Expire implements order.LifeStore. An order that can't be given back (its
// quota row is damaged, say) does not keep the others: they expire, and the
// error tells of it.
func (s *Store) Expire(ctx context.Context, limit int) ([]api.Order, error) {
	due, err := s.due(ctx, limit)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	expired, err := s.expire(ctx, due)
	if !errors.Is(err, order.ErrGuard) {
		return expired, err
	}
	var errs []error
	for _, id := range due {
		one, err := s.expire(ctx, []int64{id})
		if err != nil {
			errs = append(errs, fmt.Errorf("order %d: %w", id, err))
		}
		expired = append(expired, one...)
	}
	return expired, errors.Join(errs...)
}

// due are the unpaid orders whose time is over, the oldest first.
func (s *Store) due(ctx context.Context, limit int) ([]int64, error) {
	var due []int64
	err := each(ctx, s.read, "SELECT id FROM orders WHERE state = 'created' AND pay_by <= ? ORDER BY pay_by LIMIT ?", []any{s.NowMS(), limit},
		func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			due = append(due, id)
			return err
		})
	return due, err
}

// expire moves those of the orders that are still unpaid to expired, all or none.
func (s *Store) expire(ctx context.Context, ids []int64) ([]api.Order, error) {
	var expired []api.Order
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			o, err := findOrder(ctx, tx, "id = ?", id)
			if err != nil {
				return err
			}
			changed, err := s.giveBack(ctx, tx, id, &o, api.StateExpired)
			if err != nil {
				return err
			}
			if changed {
				o.State = api.StateExpired
				expired = append(expired, o)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return expired, nil
}

// giveBack moves an order from created to a state without units, and returns
// units and quota in the same transaction. Only the caller whose update matched
// gives back, and the journal's unique index stands behind that. It counts as
// traffic: until the filter has heard of it, a difference is no drift.
func (s *Store) giveBack(ctx context.Context, tx *sql.Tx, id int64, o *api.Order, to api.State) (changed bool, err error) {
	now := s.NowMS()
	n, err := rows(tx.ExecContext(ctx, "UPDATE orders SET state = ?, changed_at = ? WHERE id = ? AND state = 'created'", to, now, id))
	if err != nil || n == 0 {
		return false, err
	}
	res, err := tx.ExecContext(ctx, "UPDATE user_quota SET bought = bought - ? WHERE item = ? AND user_id = ?", o.Qty, o.Item, o.User)
	if err = exactly(1, res, err); err != nil {
		return false, err
	}
	if err = moveUnits(ctx, tx, o.Item, int64(o.Qty), "returned", id, now); err != nil {
		return false, err
	}
	if err = event(ctx, tx, id, to, now); err != nil {
		return false, err
	}
	res, err = tx.ExecContext(ctx, "UPDATE sales SET num = num + ?, last_order_at = ? WHERE item = ?", o.Qty, now, o.Item)
	return true, exactly(1, res, err)
}

// moveUnits writes the journal; orderID 0 for a move that is no order's.
func moveUnits(ctx context.Context, tx *sql.Tx, item string, delta int64, kind string, orderID, at int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES (?,?,?,?,?)",
		item, delta, kind, sql.NullInt64{Int64: orderID, Valid: orderID != 0}, at)
	return err
}

// event notes what the shop is to hear of an order.
func event(ctx context.Context, tx *sql.Tx, id int64, state api.State, at int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO outbox (order_id, event, at) VALUES (?,?,?)", id, state, at)
	return err
}
