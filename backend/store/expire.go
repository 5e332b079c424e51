package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

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
	for i := range due {
		one, err := s.expire(ctx, due[i:i+1])
		if err != nil {
			errs = append(errs, fmt.Errorf("order %s: %w", due[i].OrderID, err))
		}
		expired = append(expired, one...)
	}
	return expired, errors.Join(errs...)
}

// due are the unpaid orders whose time is over, the oldest of them, in the order
// in which placements lock what they share with them: by item and user. Of two
// processes that expire the same orders one waits for the other.
func (s *Store) due(ctx context.Context, limit int) ([]api.Order, error) {
	var due []api.Order
	err := s.reading().each(ctx, selectOrder+"state = 'created' AND pay_by <= "+s.clock()+" ORDER BY pay_by LIMIT ?", []any{limit},
		func(scan func(...any) error) error {
			o, err := scanOrder(scan)
			due = append(due, o)
			return err
		})
	slices.SortFunc(due, func(a, b api.Order) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.User, b.User), cmp.Compare(a.BizID, b.BizID))
	})
	return due, err
}

// expire moves those of the orders that are still unpaid to expired, all or none.
// The rows of the sales come last, as in a placement: whoever held one while
// waiting for a buyer's quota could wait for somebody who waits for it.
func (s *Store) expire(ctx context.Context, due []api.Order) ([]api.Order, error) {
	var expired []api.Order
	err := s.inTx(ctx, func(q session) error {
		units := make(map[string]int64)
		for _, o := range due {
			id, _ := order.ParseNumber(o.OrderID) // it was written from a number
			changed, err := s.endUnpaid(ctx, q, id, &o, api.StateExpired)
			if err != nil {
				return err
			}
			if changed {
				o.State = api.StateExpired
				expired = append(expired, o)
				units[o.Item] += int64(o.Qty)
			}
		}
		for _, item := range slices.Sorted(maps.Keys(units)) {
			if err := s.offerAgain(ctx, q, item, units[item]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return expired, nil
}

// endUnpaid moves an order from created to a state without units, and gives the
// quota back; the caller must offer the units again in the same transaction. Only
// the caller whose update matched gives back, and the journal's unique index
// stands behind that.
func (s *Store) endUnpaid(ctx context.Context, q session, id int64, o *api.Order, to api.State) (changed bool, err error) {
	n, err := q.exec(ctx, "UPDATE orders SET state = ?, changed_at = "+s.clock()+" WHERE id = ? AND state = 'created'", to, id)
	if err != nil || n == 0 {
		return false, err
	}
	if err = q.exactly(ctx, 1, "UPDATE user_quota SET bought = bought - ? WHERE item = ? AND user_id = ?", o.Qty, o.Item, o.User); err != nil {
		return false, err
	}
	if err = s.moveUnits(ctx, q, o.Item, int64(o.Qty), "returned", id); err != nil {
		return false, err
	}
	return true, s.event(ctx, q, id, to)
}

// offerAgain adds units to a sale. It counts as traffic: until the filter has heard
// of it, a difference is no drift.
func (s *Store) offerAgain(ctx context.Context, q session, item string, units int64) error {
	return q.exactly(ctx, 1, "UPDATE sales SET num = num + ?, last_order_at = "+s.clock()+" WHERE item = ?", units, item)
}

// moveUnits writes the journal; orderID 0 for a move that is no order's.
func (s *Store) moveUnits(ctx context.Context, q session, item string, delta int64, kind string, orderID int64) error {
	_, err := q.exec(ctx, "INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES (?,?,?,?,"+s.clock()+")",
		item, delta, kind, sql.NullInt64{Int64: orderID, Valid: orderID != 0})
	return err
}

// event notes what the shop is to hear of an order.
func (s *Store) event(ctx context.Context, q session, id int64, state api.State) error {
	_, err := q.exec(ctx, "INSERT INTO outbox (order_id, event, at) VALUES (?,?,"+s.clock()+")", id, state)
	return err
}
