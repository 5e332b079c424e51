package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

const saleColumns = "item, title, price_cents, num, starts_at, ends_at, per_user, mode, paused, preheat, demo, epoch, reseed_until, db_epoch, last_order_at"

// sales is a query for sales, and for the time at which they were so.
func (s *Store) sales(where string) string {
	return "SELECT " + saleColumns + ", " + s.clock() + " FROM sales WHERE " + where
}

func scanSale(scan func(...any) error) (order.Sale, error) {
	var v order.Sale
	err := scan(&v.Item, &v.Title, &v.PriceCents, &v.Num, &v.StartsAt, &v.EndsAt, &v.PerUser, &v.Mode, &v.Paused, &v.Preheat, &v.Demo,
		&v.Epoch, &v.ReseedUntil, &v.DBEpoch, &v.LastOrderAt, &v.Now)
	return v, err
}

func (s *Store) sale(ctx context.Context, q session, item string) (order.Sale, error) {
	v, err := scanSale(func(into ...any) error { return q.one(ctx, s.sales("item = ?"), []any{item}, into...) })
	if errors.Is(err, sql.ErrNoRows) {
		err = noSaleError(item)
	}
	return v, err
}

// noSaleError names an item that has no sale. It is an api.ErrNotFound.
type noSaleError string

func (e noSaleError) Error() string {
	return "item " + string(e) + " has no sale; backend sale list shows those there are"
}

func (noSaleError) Unwrap() error { return api.ErrNotFound }

// Sale returns one sale; api.ErrNotFound if there is none.
func (s *Store) Sale(ctx context.Context, item string) (order.Sale, error) {
	return s.sale(ctx, s.reading(), item)
}

// Sales returns the sales that end after the given time (Unix milliseconds), by item.
func (s *Store) Sales(ctx context.Context, endingAfter int64) ([]order.Sale, error) {
	var all []order.Sale
	err := s.reading().each(ctx, s.sales("ends_at > ? ORDER BY starts_at, item"), []any{endingAfter},
		func(scan func(...any) error) error {
			v, err := scanSale(scan)
			all = append(all, v)
			return err
		})
	return all, err
}

// ErrExists: the item has a sale already, whose units and orders must not be
// overwritten.
var ErrExists = errors.New("the item is on sale already; end that sale or use another item id")

// Create puts an item on sale with its initial units, in a new epoch; ErrExists if
// it is on sale, also where another process was faster by a moment.
func (s *Store) Create(ctx context.Context, v order.Sale) error {
	err := s.createNew(ctx, v)
	if errors.Is(err, order.ErrGuard) { // of a constraint: is it the key's? Then it is there now
		if _, found := s.Sale(ctx, v.Item); found == nil {
			return fmt.Errorf("sale %s: %w", v.Item, ErrExists)
		}
	}
	return err
}

func (s *Store) createNew(ctx context.Context, v order.Sale) error {
	return s.inTx(ctx, func(q session) error {
		switch _, err := s.sale(ctx, q, v.Item); {
		case err == nil:
			return fmt.Errorf("sale %s: %w", v.Item, ErrExists)
		case !errors.Is(err, api.ErrNotFound):
			return err
		}
		return s.create(ctx, q, &v)
	})
}

func (s *Store) create(ctx context.Context, q session, v *order.Sale) error {
	now := s.clock()
	_, err := q.exec(ctx, "INSERT INTO sales (item, title, price_cents, num, starts_at, ends_at, per_user, mode, demo, epoch, created_at) VALUES (?,?,?,?,?,?,?,?,?,"+now+","+now+")",
		v.Item, v.Title, v.PriceCents, v.Num, v.StartsAt, v.EndsAt, v.PerUser, v.Mode, v.Demo)
	if err != nil {
		return err
	}
	return s.moveUnits(ctx, q, v.Item, v.Num, "initial", 0)
}

// Demo makes demonstration sales anew: earlier ones with their orders go. An
// item that is on sale for real is left alone and not returned.
func (s *Store) Demo(ctx context.Context, sales []order.Sale) (made []string, err error) {
	err = s.inTx(ctx, func(q session) error {
		if err := dropDemo(ctx, q); err != nil {
			return err
		}
		made = made[:0]
		for i := range sales {
			v := sales[i]
			v.Demo = true
			if _, err := s.sale(ctx, q, v.Item); err == nil {
				continue
			} else if !errors.Is(err, api.ErrNotFound) {
				return err
			}
			if err := s.create(ctx, q, &v); err != nil {
				return err
			}
			made = append(made, v.Item)
		}
		return nil
	})
	return made, err
}

func dropDemo(ctx context.Context, q session) error {
	const demo = "(SELECT item FROM sales WHERE demo = ?)"
	for _, statement := range []string{
		"DELETE FROM outbox WHERE order_id IN (SELECT id FROM orders WHERE item IN " + demo + ")",
		"DELETE FROM orders WHERE item IN " + demo,
		"DELETE FROM user_quota WHERE item IN " + demo,
		"DELETE FROM stock_journal WHERE item IN " + demo,
		"DELETE FROM sales WHERE demo = ?",
	} {
		if _, err := q.exec(ctx, statement, true); err != nil {
			return err
		}
	}
	return nil
}

// SetPaused pauses or resumes a sale. It raises the epoch in the same
// statement, so that no ticket from before the change can become an order after
// it, and the filter is reseeded with the new state. A seeder at work holds its
// lease for the epoch that ends here: the lease ends with it.
func (s *Store) SetPaused(ctx context.Context, item string, paused bool) error {
	_, err := s.openEpoch(ctx, item, "paused = ?", paused)
	return err
}

// Preheat opens a new epoch, so that whoever has the filter seeds it at the
// next look, even before the sale's time.
func (s *Store) Preheat(ctx context.Context, item string) (epoch int64, err error) {
	return s.openEpoch(ctx, item, "preheat = ?", true)
}

// openEpoch changes a sale and opens an epoch for the change, without a lease.
func (s *Store) openEpoch(ctx context.Context, item, change string, value any) (epoch int64, err error) {
	err = s.inTx(ctx, func(q session) error {
		n, err := q.exec(ctx, "UPDATE sales SET "+change+", epoch = "+s.d.greatest+"(epoch + 1, "+s.clock()+"), reseed_until = 0 WHERE item = ?", value, item)
		if err == nil && n == 0 {
			err = noSaleError(item)
		}
		if err != nil {
			return err
		}
		return q.one(ctx, "SELECT epoch FROM sales WHERE item = ?", []any{item}, &epoch)
	})
	return epoch, err
}
