package store

import (
	"context"
	"fmt"

	"rushgate/lua"
)

// RaiseEpoch ends the epoch from and opens the next, with a lease for the
// seeder that raised it. Epochs are at least the clock in milliseconds, so that
// none is used twice even if the database fails over and forgets the last
// raise; and later than floor, the epoch that the filter is at (0 if that is not
// known), so that the raise overtakes it even where the new primary's clock is
// behind. ok is false when another seeder was faster or holds its lease.
func (s *Store) RaiseEpoch(ctx context.Context, item string, from, floor, leaseMS int64) (epoch int64, ok bool, err error) {
	now := s.clock()
	query := "UPDATE sales SET epoch = " + s.d.greatest + "(epoch + 1, " + now + ", ?), reseed_until = " + now + " + ? WHERE item = ? AND epoch = ? AND reseed_until < " + now
	err = s.inTx(ctx, func(q session) error {
		n, err := q.exec(ctx, query, floor+1, leaseMS, item, from)
		if err != nil || n == 0 {
			return err
		}
		ok = true
		return q.one(ctx, "SELECT epoch FROM sales WHERE item = ?", []any{item}, &epoch)
	})
	return epoch, ok && err == nil, err
}

// EndLease tells everyone that the seeder of this epoch is done.
func (s *Store) EndLease(ctx context.Context, item string, epoch int64) error {
	return s.inTx(ctx, func(q session) error {
		_, err := q.exec(ctx, "UPDATE sales SET reseed_until = 0 WHERE item = ? AND epoch = ?", item, epoch)
		return err
	})
}

// Snapshot reads what the filter must know of a sale: units and buyers, in one
// snapshot.
func (s *Store) Snapshot(ctx context.Context, item string) (seed lua.Seed, err error) {
	err = s.snapshot(ctx, func(q session) error {
		v, err := s.sale(ctx, q, item)
		if err != nil {
			return err
		}
		seed = lua.Seed{
			Item: item, Epoch: v.Epoch, StartsAt: v.StartsAt, EndsAt: v.EndsAt, PerUser: v.PerUser, Paused: v.Paused,
			Stock: v.Num, Buyers: make(map[string]lua.Note),
		}
		return noteBuyers(ctx, q, item, seed.Buyers)
	})
	if err != nil {
		return lua.Seed{}, fmt.Errorf("snapshot of %s: %w", item, err)
	}
	return seed, nil
}

func noteBuyers(ctx context.Context, q session, item string, buyers map[string]lua.Note) error {
	return q.each(ctx, "SELECT user_id, biz_id, qty FROM orders WHERE item = ? AND state IN ('created', 'paid')", []any{item},
		func(scan func(...any) error) error {
			var user, bizID string
			var qty int64
			if err := scan(&user, &bizID, &qty); err != nil {
				return err
			}
			note := buyers[user]
			note.Qty += qty
			note.BizIDs = append(note.BizIDs, bizID)
			buyers[user] = note
			return nil
		})
}
