package store

import (
	"context"

	"rushgate/backend/reseed"
)

// worst bounds how many names an audit lists of one class: enough to start
// looking, and never a table of everybody.
const worst = 20

// Items implements reseed.Auditor.
func (s *Store) Items(ctx context.Context) ([]string, error) {
	return s.reading().names(ctx, "SELECT item FROM sales ORDER BY item")
}

// Books implements reseed.Auditor: all sums come from one snapshot, so that an
// audit of a live system raises no false alarm.
func (s *Store) Books(ctx context.Context, item string) (*reseed.Books, error) {
	b := &reseed.Books{Buyers: make(map[string]int64)}
	err := s.snapshot(ctx, func(q session) (err error) {
		if b.Sale, err = s.sale(ctx, q, item); err != nil {
			return err
		}
		for _, read := range []func(context.Context, session, string, *reseed.Books) error{readSums, readBuyers, readFaults} {
			if err := read(ctx, q, item, b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func readSums(ctx context.Context, q session, item string, b *reseed.Books) error {
	const query = `SELECT
		(SELECT COALESCE(SUM(delta), 0) FROM stock_journal WHERE item = ?),
		(SELECT COALESCE(SUM(delta), 0) FROM stock_journal WHERE item = ? AND kind IN ('initial', 'added', 'removed')),
		(SELECT COALESCE(SUM(qty), 0) FROM orders WHERE item = ? AND state IN ('created', 'paid')),
		(SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE item = ? GROUP BY user_id, biz_id HAVING COUNT(*) > 1) AS twice)`
	return q.one(ctx, query, []any{item, item, item, item}, &b.JournalSum, &b.JournalStock, &b.ActiveUnits, &b.SameKey)
}

func readBuyers(ctx context.Context, q session, item string, b *reseed.Books) error {
	const query = "SELECT user_id, SUM(qty) FROM orders WHERE item = ? AND state IN ('created', 'paid') GROUP BY user_id"
	return q.each(ctx, query, []any{item}, func(scan func(...any) error) error {
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

func readFaults(ctx context.Context, q session, item string, b *reseed.Books) (err error) {
	const quotaDrift = `SELECT who FROM (
			SELECT user_id AS who, SUM(bought) AS quota, SUM(held) AS held FROM (
				SELECT user_id, bought, 0 AS held FROM user_quota WHERE item = ?
				UNION ALL
				SELECT user_id, 0 AS bought, qty AS held FROM orders WHERE item = ? AND state IN ('created', 'paid')
			) AS sides GROUP BY user_id
		) AS sums WHERE quota <> held LIMIT ?`
	if b.QuotaDrift, err = q.names(ctx, quotaDrift, item, item, worst); err != nil {
		return err
	}
	const orphans = `SELECT o.id FROM orders o LEFT JOIN stock_journal j ON j.order_id = o.id AND j.kind = 'sold' AND j.delta = -o.qty
			WHERE o.item = ? AND o.state <> 'refused' AND j.id IS NULL
		UNION SELECT j.order_id FROM stock_journal j LEFT JOIN orders o ON o.id = j.order_id AND o.state <> 'refused'
			WHERE j.item = ? AND j.order_id IS NOT NULL AND o.id IS NULL LIMIT ?`
	if b.Orphans, err = q.names(ctx, orphans, item, item, worst); err != nil {
		return err
	}
	const doubleReturn = `SELECT j.order_id FROM stock_journal j JOIN orders o ON o.id = j.order_id
		WHERE j.item = ? AND j.kind = 'returned' GROUP BY j.order_id, o.state, o.qty
		HAVING COUNT(*) > 1 OR SUM(j.delta) <> o.qty OR o.state IN ('created', 'paid') LIMIT ?`
	b.DoubleReturn, err = q.names(ctx, doubleReturn, item, worst)
	return err
}
