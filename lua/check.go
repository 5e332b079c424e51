package lua

import "fmt"

// The checks below refuse what no caller may send, before anything is executed.
// They guard against a fault in the caller; what a client sends is refused long
// before.

func checkBatch(b Batch) error {
	for i, r := range b.Requests {
		if r.Qty < 1 {
			return fmt.Errorf("admit %q: request %d is for %d units; refuse a quantity below 1 before asking the filter", b.Item, i, r.Qty)
		}
	}
	return nil
}

func checkRestore(item string, qty int64) error {
	if qty < 1 {
		return fmt.Errorf("restore %q: %d units; give back what the order held, at least 1", item, qty)
	}
	return nil
}

func checkSeed(s Seed) error {
	switch {
	case s.Epoch < 1:
		return fmt.Errorf("seed %q: epoch %d; raise the epoch in SQL first, it starts at 1", s.Item, s.Epoch)
	case s.PerUser < 1:
		return fmt.Errorf("seed %q: per_user is %d; it must be at least 1", s.Item, s.PerUser)
	case s.Stock < 0:
		return fmt.Errorf("seed %q: stock is %d; it must not be negative", s.Item, s.Stock)
	}
	for _, n := range s.Buyers { // the user's name stays out of errors, which are logged
		if n.Qty < 0 {
			return fmt.Errorf("seed %q: a buyer holds %d units; read the buyers from SQL again", s.Item, n.Qty)
		}
	}
	return nil
}
