package store

import (
	"context"
	"database/sql"
	"strings"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

// Update implements order.Store.
func (s *Store) Update(ctx context.Context, f func(order.Tx) error) error {
	return s.inTx(ctx, func(tx *sql.Tx) error { return f(&placing{s, tx}) })
}

// Outcome implements order.Store: it opens a connection for this one look.
func (s *Store) Outcome(ctx context.Context, k order.Key) (api.Order, error) {
	db, err := s.fresh(ctx)
	if err != nil {
		return api.Order{}, err
	}
	defer func() { _ = db.Close() }()
	return findOrder(ctx, db, "user_id = ? AND biz_id = ?", k.User, k.BizID)
}

// placing is a transaction that places purchases.
type placing struct {
	s  *Store
	tx *sql.Tx
}

// Read implements order.Tx.
func (p *placing) Read(ctx context.Context, item string, keys []order.Key) (order.Sale, map[order.Key]api.Order, map[string]int64, error) {
	outcomes, err := p.outcomes(ctx, keys)
	if err != nil {
		return order.Sale{}, nil, nil, err
	}
	sale, err := p.s.sale(ctx, p.tx, item)
	if err != nil {
		return order.Sale{}, nil, nil, err
	}
	bought, err := p.bought(ctx, item, keys)
	return sale, outcomes, bought, err
}

func (p *placing) outcomes(ctx context.Context, keys []order.Key) (map[order.Key]api.Order, error) {
	args := make([]any, 0, 2*len(keys))
	for _, k := range keys {
		args = append(args, k.User, k.BizID)
	}
	found := make(map[order.Key]api.Order)
	query := selectOrder + "(user_id, biz_id) IN (VALUES " + tuples(len(keys), "(?,?)") + ")"
	err := each(ctx, p.tx, query, args, func(scan func(...any) error) error {
		o, err := scanOrder(scan)
		found[order.Key{User: o.User, BizID: o.BizID}] = o
		return err
	})
	return found, err
}

func (p *placing) bought(ctx context.Context, item string, keys []order.Key) (map[string]int64, error) {
	args := make([]any, 0, 1+len(keys))
	args = append(args, item)
	for _, k := range keys {
		args = append(args, k.User)
	}
	bought := make(map[string]int64, len(keys))
	query := "SELECT user_id, bought FROM user_quota WHERE item = ? AND user_id IN (" + tuples(len(keys), "?") + ")"
	err := each(ctx, p.tx, query, args, func(scan func(...any) error) error {
		var user string
		var n int64
		err := scan(&user, &n)
		bought[user] = n
		return err
	})
	return bought, err
}

// Write implements order.Tx. The order of the statements is the order of
// contention: what only this group touches first, the hot row last, so that on
// engines with row locks it is held for the shortest time.
func (p *placing) Write(ctx context.Context, w order.Write) error {
	for _, step := range []func(context.Context, *order.Write) error{p.insertOrders, p.raiseQuota, p.journal, p.takeUnits} {
		if err := step(ctx, &w); err != nil {
			return err
		}
	}
	return nil
}

func (p *placing) insertOrders(ctx context.Context, w *order.Write) error {
	const columns = 13
	args := make([]any, 0, columns*len(w.Rows))
	for i := range w.Rows {
		r := &w.Rows[i]
		o := &r.Order
		args = append(args, r.ID, o.Item, o.User, o.BizID, o.Qty, o.AmountCents, o.State, o.Code, r.Path, r.Epoch, o.CreatedAt, o.PayBy, o.CreatedAt)
	}
	_, err := p.tx.ExecContext(ctx, "INSERT INTO orders (id, item, user_id, biz_id, qty, amount_cents, state, code, path, epoch, created_at, pay_by, changed_at) VALUES "+ //nolint:gosec // only placeholders are put together
		tuples(len(w.Rows), "(?,?,?,?,?,?,?,?,?,?,?,?,?)"), args...)
	return err
}

// raiseQuota holds the limit per user: a row that would pass per_user is not
// updated, which shows in the count.
func (p *placing) raiseQuota(ctx context.Context, w *order.Write) error {
	takes := w.Takes()
	if len(takes) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(takes)+1)
	for _, t := range takes {
		if t.Qty > w.Sale.PerUser {
			return order.ErrGuard
		}
		args = append(args, w.Sale.Item, t.User, t.Qty)
	}
	args = append(args, w.Sale.PerUser)
	res, err := p.tx.ExecContext(ctx, "INSERT INTO user_quota (item, user_id, bought) VALUES "+tuples(len(takes), "(?,?,?)")+ //nolint:gosec // only placeholders are put together
		" ON CONFLICT (item, user_id) DO UPDATE SET bought = bought + excluded.bought WHERE bought + excluded.bought <= ?", args...)
	return exactly(int64(len(takes)), res, err)
}

// journal notes the units and what the shop is to hear.
func (p *placing) journal(ctx context.Context, w *order.Write) error {
	var moves, events []any
	n := 0
	for i := range w.Rows {
		if r := &w.Rows[i]; r.Order.State.Active() {
			moves = append(moves, r.Order.Item, -r.Order.Qty, "sold", r.ID, r.Order.CreatedAt)
			events = append(events, r.ID, api.StateCreated, r.Order.CreatedAt)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	if _, err := p.tx.ExecContext(ctx, "INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES "+tuples(n, "(?,?,?,?,?)"), moves...); err != nil { //nolint:gosec // only placeholders are put together
		return err
	}
	_, err := p.tx.ExecContext(ctx, "INSERT INTO outbox (order_id, event, at) VALUES "+tuples(n, "(?,?,?)"), events...) //nolint:gosec // only placeholders are put together
	return err
}

// takeUnits is the guard that no unit is sold twice: one conditional update of
// the sale's row, in the epoch under which the purchases were admitted.
func (p *placing) takeUnits(ctx context.Context, w *order.Write) error {
	if w.Units == 0 {
		return nil
	}
	dbEpoch := "db_epoch"
	if w.DBPath {
		dbEpoch = "epoch"
	}
	query := "UPDATE sales SET num = num - ?, last_order_at = ?, db_epoch = " + dbEpoch + " WHERE item = ? AND num >= ?"
	args := []any{w.Units, w.Sale.Now, w.Sale.Item, w.Units}
	if w.Pinned {
		query += " AND epoch = ?"
		args = append(args, w.Sale.Epoch)
	}
	res, err := p.tx.ExecContext(ctx, query, args...)
	return exactly(1, res, err)
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// each calls f for every row of a query.
func each(ctx context.Context, q querier, query string, args []any, f func(scan func(...any) error) error) error {
	rs, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rs.Close() }()
	for rs.Next() {
		if err := f(rs.Scan); err != nil {
			return err
		}
	}
	return rs.Err()
}

// tuples writes n placeholders groups with commas between.
func tuples(n int, one string) string {
	return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
}
