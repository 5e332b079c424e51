package lua

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// chunk is how many buyers one call of a seed writes. Redis does nothing else
// meanwhile, and Lua's stack holds their fields and notes.
const chunk = 1000

// asideFor is how long what a seeder has written stays if the seeder dies. A seeder
// that is slower than that from one chunk to the next starts again.
const asideFor = time.Minute

// What flip.lua returns.
const (
	flipOpened = int64(1)
	flipOlder  = int64(0)
	flipLost   = int64(-1)
)

// Seed implements [Filter]. The buyers are written aside, in chunks, one after the
// other so that admissions of other items come between; one script then opens the
// epoch. A seeder that ends on the way leaves what was there before, and garbage
// that expires. An error after which the epoch is open all the same is possible:
// the reply was lost, and View tells.
//
// A sale that has been over for longer than Keep is dropped and not opened.
func (r *Redis) Seed(ctx context.Context, s Seed) error {
	if err := errors.Join(checkSeed(s), checkRedisSeed(s, r.keep)); err != nil {
		return err
	}
	k := keysOf(s.Item)
	aside := k.aside(s.Epoch, rand.Text())
	fields, err := r.writeAside(ctx, aside, s.Buyers)
	if err != nil {
		return fmt.Errorf("seed %q: write the buyers of epoch %d: %w", s.Item, s.Epoch, err)
	}
	state := "open"
	if s.Paused {
		state = "paused"
	}
	answer, err := flipScript.run(ctx, r.client,
		[]string{k.meta(), k.stock(s.Epoch), k.buyers(s.Epoch), aside},
		[]any{s.Epoch, s.StartsAt, s.EndsAt, s.PerUser, state, s.Stock, r.keep, fields})
	if err != nil {
		return fmt.Errorf("seed %q: open epoch %d: %w", s.Item, s.Epoch, err)
	}
	switch answer {
	case flipOpened:
		return nil
	case flipOlder:
		return ErrOlder
	case flipLost:
		return fmt.Errorf("seed %q: epoch %d: redis has lost buyers that were just written; raise the epoch and seed again", s.Item, s.Epoch)
	}
	return fmt.Errorf("seed %q: %w", s.Item, errShape)
}

// writeAside writes the buyers, the marker last, and returns how many fields that
// makes.
func (r *Redis) writeAside(ctx context.Context, aside string, buyers map[string]Note) (int, error) {
	fields := 0
	args := []any{asideFor.Milliseconds()}
	send := func() error {
		_, err := seedScript.run(ctx, r.client, []string{aside}, args)
		args = args[:1]
		return err
	}
	for user, n := range buyers {
		if n.Qty == 0 && len(n.BizIDs) == 0 {
			continue // nothing is left to say of this buyer
		}
		args = append(args, user, encodeNote(n))
		fields++
		if fields%chunk == 0 {
			if err := send(); err != nil {
				return 0, err
			}
		}
	}
	args = append(args, marker, 1)
	return fields + 1, send()
}
