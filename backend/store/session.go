package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"rushgate/backend/order"
)

// session runs statements of one dialect, each in bounded time, on a pool or in a
// transaction.
type session struct {
	on    runner
	d     *dialect
	limit time.Duration // of one statement, the fetching of its rows included
}

// runner is a *sql.DB or a *sql.Tx.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// exec changes rows and reports how many matched: that they held the new values
// already makes no difference.
func (q session) exec(ctx context.Context, query string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, q.limit+slack)
	defer cancel()
	res, err := q.on.ExecContext(ctx, q.d.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// exactly is exec for a statement that guards: another number of rows than want
// is order.ErrGuard.
func (q session) exactly(ctx context.Context, want int64, query string, args ...any) error {
	n, err := q.exec(ctx, query, args...)
	if err == nil && n != want {
		err = order.ErrGuard
	}
	return err
}

// each calls f for every row of a query.
func (q session) each(ctx context.Context, query string, args []any, f func(scan func(...any) error) error) error {
	ctx, cancel := context.WithTimeout(ctx, q.limit+slack)
	defer cancel()
	rs, err := q.on.QueryContext(ctx, q.d.bind(query), args...)
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

// one reads the first row; sql.ErrNoRows if there is none.
func (q session) one(ctx context.Context, query string, args []any, into ...any) error {
	found := false
	err := q.each(ctx, query, args, func(scan func(...any) error) error {
		if found {
			return nil
		}
		found = true
		return scan(into...)
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

// names reads one column as text.
func (q session) names(ctx context.Context, query string, args ...any) ([]string, error) {
	var all []string
	err := q.each(ctx, query, args, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		all = append(all, name)
		return err
	})
	return all, err
}

// tuples writes n groups of placeholders with commas between.
func tuples(n int, one string) string {
	return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
}
