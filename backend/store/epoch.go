package store

import (
	"context"
	"database/sql"
	"fmt"

	"rushgate/lua"
)

// RaiseEpoch ends the epoch from and opens the next, with a lease for the
// seeder that raised it. Epochs are at least the clock in milliseconds, so that
// none is used twice even if the database fails over and forgets the last
// raise. ok is false when another seeder was faster or holds its lease.
func (s *Store) RaiseEpoch(ctx context.Context, item string, from int64, leaseMS int64) (epoch int64, ok bool, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		now := s.NowMS()
		n, err := rows(tx.ExecContext(ctx, "UPDATE sales SET epoch = max(epoch + 1, ?), reseed_until = ? WHERE item = ? AND epoch = ? AND reseed_until < ?",
			now, now+leaseMS, item, from, now))
		if err != nil || n == 0 {
			return err
		}
		ok = true
		return tx.QueryRowContext(ctx, "SELECT epoch FROM sales WHERE item = ?", item).Scan(&epoch)
	})
	return epoch, ok && err == nil, err
}

// EndLease tells everyone that the seeder of this epoch is done.
func (s *Store) EndLease(ctx context.Context, item string, epoch int64) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE sales SET reseed_until = 0 WHERE item = ? AND epoch = ?", item, epoch)
		return err
	})
}

// Snapshot reads what the filter must know of a sale: units and buyers, in one
// snapshot.
func (s *Store) Snapshot(ctx context.Context, item string) (lua.Seed, error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return lua.Seed{}, err
	}
	defer func() { _ = tx.Rollback() }() // it only read
	v, err := s.sale(ctx, tx, item)
	if err != nil {
		return lua.Seed{}, err
	}
	seed := lua.Seed{
		Item: item, Epoch: v.Epoch, StartsAt: v.StartsAt, EndsAt: v.EndsAt, PerUser: v.PerUser, Paused: v.Paused,
		Stock: v.Num, Buyers: make(map[string]lua.Note),
	}
	err = each(ctx, tx, "SELECT user_id, biz_id, qty FROM orders WHERE item = ? AND state IN ('created', 'paid')", []any{item},
		func(scan func(...any) error) error {
			var user, bizID string
			var qty int64
			if err := scan(&user, &bizID, &qty); err != nil {
				return err
			}
			note := seed.Buyers[user]
			note.Qty += qty
			note.BizIDs = append(note.BizIDs, bizID)
			seed.Buyers[user] = note
			return nil
		})
	if err != nil {
		return lua.Seed{}, fmt.Errorf("snapshot of %s: %w", item, err)
	}
	return seed, nil
}
