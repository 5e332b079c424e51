package order

import (
	"context"
	"log/slog"
	"time"

	"rushgate/backend/api"
)

// expireBatch bounds one expiry transaction, so that purchases of the same
// items never wait long behind it.
const expireBatch = 200

// expireTime bounds one expiry transaction, its wait for the database included.
const expireTime = 5 * time.Second

// restoreTime bounds telling the filter. A restore that is lost is made good by
// the next reseed, so it is not worth a client's time.
const restoreTime = 500 * time.Millisecond

// Life moves orders on after they were placed. Safe for concurrent use.
type Life struct {
	Store  LifeStore
	Filter Restorer
	Log    *slog.Logger
}

// Pay pays an order. Paying twice, too late, or what was cancelled is a
// *api.Refusal with code order_state.
func (l *Life) Pay(ctx context.Context, user, orderID string) (api.Order, error) {
	return l.move(ctx, user, orderID, l.Store.Pay)
}

// Cancel gives an unpaid order's units back, once, in SQL and then in the filter.
func (l *Life) Cancel(ctx context.Context, user, orderID string) (api.Order, error) {
	o, err := l.move(ctx, user, orderID, l.Store.Cancel)
	if err == nil {
		l.restore(ctx, []api.Order{o})
	}
	return o, err
}

// ExpireDue expires what is due now and returns how many orders that were.
func (l *Life) ExpireDue(ctx context.Context) (int, error) {
	total := 0
	for {
		n, err := l.expireSome(ctx)
		total += n
		if err != nil || n < expireBatch {
			return total, err
		}
	}
}

func (l *Life) expireSome(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, expireTime)
	defer cancel()
	orders, err := l.Store.Expire(ctx, expireBatch)
	l.restore(ctx, orders)
	return len(orders), err
}

// Run expires orders every interval until ctx ends.
func (l *Life) Run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := l.ExpireDue(ctx); err != nil && ctx.Err() == nil {
			l.Log.Warn("expiring unpaid orders failed; trying again", "in", interval, "error", err)
		}
	}
}

// move makes one conditional change and says clearly why it could not be made.
func (l *Life) move(ctx context.Context, user, orderID string,
	change func(context.Context, string, int64) (api.Order, bool, error),
) (api.Order, error) {
	id, ok := ParseNumber(orderID)
	if !ok {
		return api.Order{}, api.ErrNotFound
	}
	o, changed, err := change(ctx, user, id)
	if err != nil {
		return api.Order{}, err
	}
	if changed {
		return o, nil
	}
	state := o.State
	if state == api.StateCreated {
		state = api.StateExpired // its time is over; the expiry has just not come by
	}
	return api.Order{}, &api.Refusal{Code: api.OrderState, State: state}
}

// restore tells the filter that units are on offer again. It must come after
// the commit: before it, the filter would offer units that SQL still counts as
// sold. A filter that fails once is not asked about the rest: expiring
// thousands of orders must not wait for each.
func (l *Life) restore(ctx context.Context, orders []api.Order) {
	for i := range orders {
		if i > 0 && ctx.Err() != nil { // stopping: the next reseed tells the rest
			return
		}
		if err := l.restoreOne(ctx, &orders[i]); err != nil {
			l.Log.Warn("units came back in SQL, the filter did not hear; the next reseed tells it",
				"item", orders[i].Item, "orders", len(orders)-i, "error", err)
			return
		}
	}
}

func (l *Life) restoreOne(ctx context.Context, o *api.Order) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	_, err := l.Filter.Restore(ctx, o.Item, o.User, o.BizID, int64(o.Qty))
	return err
}
