package store

import (
	"cmp"
	"context"
	"slices"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

// Update implements order.Store.
func (s *Store) Update(ctx context.Context, f func(order.Tx) error) error {
	return s.inTx(ctx, func(q session) error { return f(&placing{s, q}) })
}

// Outcome implements order.Store: it opens a connection for this one look, beside
// those that Options.Conns counts. It asks whichever server answers now, and not
// one that an old connection still leads to.
func (s *Store) Outcome(ctx context.Context, k order.Key) (api.Order, error) {
	db, err := s.db.pool(reader, 1)
	if err != nil {
		return api.Order{}, err
	}
	defer func() { _ = db.Close() }()
	return session{db, s.d, readTime}.order(ctx, "user_id = ? AND biz_id = ?", k.User, k.BizID)
}

// placing is a transaction that places purchases.
type placing struct {
	s *Store
	q session
}

// Read implements order.Tx.
func (p *placing) Read(ctx context.Context, item string, keys []order.Key) (order.Sale, map[order.Key]api.Order, map[string]int64, error) {
	outcomes, err := p.outcomes(ctx, keys)
	if err != nil {
		return order.Sale{}, nil, nil, err
	}
	sale, err := p.s.sale(ctx, p.q, item)
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
	query := selectOrder + "(user_id, biz_id) IN " + p.q.d.rows(len(keys), "(?,?)")
	err := p.q.each(ctx, query, args, func(scan func(...any) error) error {
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
	err := p.q.each(ctx, query, args, func(scan func(...any) error) error {
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
	for _, r := range byKey(w.Rows) {
		o := &r.Order
		args = append(args, r.ID, o.Item, o.User, o.BizID, o.Qty, o.AmountCents, o.State, o.Code, r.Path, r.Epoch, o.CreatedAt, o.PayBy, o.CreatedAt)
	}
	_, err := p.q.exec(ctx, "INSERT INTO orders (id, item, user_id, biz_id, qty, amount_cents, state, code, path, epoch, created_at, pay_by, changed_at) VALUES "+
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
	for _, t := range takes {
		if t.Qty > w.Sale.PerUser {
			return order.ErrGuard
		}
	}
	return p.q.d.raiseQuota(ctx, p.q, w.Sale.Item, w.Sale.PerUser, takes)
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
	if _, err := p.q.exec(ctx, "INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES "+tuples(n, "(?,?,?,?,?)"), moves...); err != nil {
		return err
	}
	_, err := p.q.exec(ctx, "INSERT INTO outbox (order_id, event, at) VALUES "+tuples(n, "(?,?,?)"), events...)
	return err
}

// takeUnits is the guard that no unit is sold twice: one conditional update of
// the sale's row, in the epoch under which the purchases were admitted. The DB path
// is bound to no epoch, so a pause that came since the sale was read is its guard.
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
	if w.DBPath {
		query += " AND paused = ?"
		args = append(args, false)
	}
	return p.q.exactly(ctx, 1, query, args...)
}

// byKey returns the rows by key: two groups that hold the same keys must not wait
// for each other's.
func byKey(rows []order.Row) []order.Row {
	return slices.SortedFunc(slices.Values(rows), func(a, b order.Row) int {
		return cmp.Or(cmp.Compare(a.Order.User, b.Order.User), cmp.Compare(a.Order.BizID, b.Order.BizID))
	})
}
