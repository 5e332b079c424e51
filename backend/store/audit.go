package store

import (
	"context"
	"database/sql"

	"rushgate/backend/order"
	"rushgate/backend/reseed"
)

// worst bounds how many names an audit lists of one class: enough to start
// looking, and never a table of everybody.
const worst = 20

// Items implements reseed.Auditor.
func (s *Store) Items(ctx context.Context) ([]string, error) {
	return names(ctx, s.read, "SELECT item FROM sales ORDER BY item")
}

// Books implements reseed.Auditor: all sums come from one snapshot, so that an
// audit of a live system raises no false alarm.
func (s *Store) Books(ctx context.Context, item string) (*reseed.Books, error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it only read
	b := &reseed.Books{Buyers: make(map[string]int64)}
	if b.Sale, err = s.sale(ctx, tx, item); err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context, *sql.Tx, string, *reseed.Books) error{readSums, readBuyers, readFaults} {
		if err := read(ctx, tx, item, b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func readSums(ctx context.Context, tx *sql.Tx, item string, b *reseed.Books) error {
	const query = `SELECT
		(SELECT COALESCE(SUM(delta), 0) FROM stock_journal WHERE item = ?),
		(SELECT COALESCE(SUM(delta), 0) FROM stock_journal WHERE item = ? AND kind IN ('initial', 'added', 'removed')),
		(SELECT COALESCE(SUM(qty), 0) FROM orders WHERE item = ? AND state IN ('created', 'paid')),
		(SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE item = ? GROUP BY user_id, biz_id HAVING COUNT(*) > 1) AS twice)`
	return tx.QueryRowContext(ctx, query, item, item, item, item).Scan(&b.JournalSum, &b.JournalStock, &b.ActiveUnits, &b.SameKey)
}

func readBuyers(ctx context.Context, tx *sql.Tx, item string, b *reseed.Books) error {
	const query = "SELECT user_id, SUM(qty) FROM orders WHERE item = ? AND state IN ('created', 'paid') GROUP BY user_id"
	return each(ctx, tx, query, []any{item}, func(scan func(...any) error) error {
		var user string
		var units int64
		err := scan(&user, &units)
		b.Buyers[user] = units
		if units > b.Sale.PerUser && len(b.OverLimit) < worst {
			b.OverLimit = append(b.OverLimit, user)
		}
		return err
	})
}

func readFaults(ctx context.Context, tx *sql.Tx, item string, b *reseed.Books) (err error) {
	const quotaDrift = `SELECT who FROM (
			SELECT user_id AS who, SUM(bought) AS quota, SUM(held) AS held FROM (
				SELECT user_id, bought, 0 AS held FROM user_quota WHERE item = ?
				UNION ALL
				SELECT user_id, 0 AS bought, qty AS held FROM orders WHERE item = ? AND state IN ('created', 'paid')
			) AS both GROUP BY user_id
		) AS sums WHERE quota <> held LIMIT ?`
	if b.QuotaDrift, err = names(ctx, tx, quotaDrift, item, item, worst); err != nil {
		return err
	}
	const orphans = `SELECT o.id FROM orders o LEFT JOIN stock_journal j ON j.order_id = o.id AND j.kind = 'sold' AND j.delta = -o.qty
			WHERE o.item = ? AND o.state <> 'refused' AND j.id IS NULL
		UNION SELECT j.order_id FROM stock_journal j LEFT JOIN orders o ON o.id = j.order_id AND o.state <> 'refused'
			WHERE j.item = ? AND j.order_id IS NOT NULL AND o.id IS NULL LIMIT ?`
	if b.Orphans, err = names(ctx, tx, orphans, item, item, worst); err != nil {
		return err
	}
	const doubleReturn = `SELECT j.order_id FROM stock_journal j JOIN orders o ON o.id = j.order_id
		WHERE j.item = ? AND j.kind = 'returned' GROUP BY j.order_id, o.state, o.qty
		HAVING COUNT(*) > 1 OR SUM(j.delta) <> o.qty OR o.state IN ('created', 'paid') LIMIT ?`
	b.DoubleReturn, err = names(ctx, tx, doubleReturn, item, worst)
	return err
}

// names reads one column as text.
func names(ctx context.Context, q querier, query string, args ...any) ([]string, error) {
	var all []string
	err := each(ctx, q, query, args, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		all = append(all, name)
		return err
	})
	return all, err
}

// The store serves these.
var (
	_ order.Store     = (*Store)(nil)
	_ order.LifeStore = (*Store)(nil)
	_ reseed.SQL      = (*Store)(nil)
	_ reseed.Auditor  = (*Store)(nil)
)
