package lua

import (
	"errors"
	"fmt"
)

// maxExact is the largest number that a script may meet: Lua counts in doubles,
// which are exact up to 2^53.
const maxExact = 1<<53 - 1

// exact cuts a quantity that was asked for to what a script can count. Nobody may
// have so many and there are never so many left, so the answer is the same.
func exact(qty int64) int64 { return min(qty, maxExact) }

func checkRedisBatch(b Batch) error {
	if len(b.Requests) > maxBatch {
		return fmt.Errorf("admit %q: %d requests in a batch; send at most %d at once", b.Item, len(b.Requests), maxBatch)
	}
	for _, r := range b.Requests {
		if err := checkUser("admit", b.Item, r.User); err != nil {
			return err
		}
	}
	return nil
}

// checkUser refuses the empty name, under which the seed's marker stands among the
// buyers.
func checkUser(call, item, user string) error {
	if user == "" {
		return fmt.Errorf("%s %q: a user without a name; refuse requests without an identity before asking the filter", call, item)
	}
	return nil
}

// checkRedisSeed refuses what a script couldn't count. Units may come back, so the
// limit is on all of them together, sold or not.
func checkRedisSeed(s Seed, keep int64) error {
	units := s.Stock
	for user, n := range s.Buyers {
		if err := checkUser("seed", s.Item, user); err != nil {
			return err
		}
		if n.Qty >= maxExact-units {
			return errInexact(s.Item, "the units of all buyers and the stock together")
		}
		units += n.Qty
	}
	switch {
	case s.Epoch >= maxExact:
		return errInexact(s.Item, "epoch")
	case s.PerUser >= maxExact:
		return errInexact(s.Item, "per_user")
	case s.Stock >= maxExact:
		return errInexact(s.Item, "stock")
	case s.StartsAt <= -maxExact || s.StartsAt >= maxExact:
		return errInexact(s.Item, "starts_at")
	case s.EndsAt <= -maxExact || s.EndsAt >= maxExact-keep:
		return errInexact(s.Item, "ends_at")
	}
	return nil
}

func errInexact(item, what string) error {
	return fmt.Errorf("seed %q: %s must stay below 2^53, where the numbers of a script stop being exact", item, what)
}

// errShape is an answer that no script of this version gives.
var errShape = errors.New("redis gave an answer of another shape than the script's; look for another program that writes rg:* keys")
