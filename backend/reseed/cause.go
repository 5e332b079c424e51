// Package reseed makes the filter right again, by the one operation there is:
// raise the epoch in SQL, then seed the filter from SQL under it. It also
// audits: what SQL says of itself, and what the filter says of SQL.
package reseed

import (
	"time"

	"rushgate/backend/order"
	"rushgate/lua"
)

// Cause is why a sale is reseeded; "" for no reason.
type Cause string

const (
	Preheat  Cause = "preheat"  // before the start, or by command
	Missing  Cause = "missing"  // the filter knows nothing, has lost a part, or is another server than was seeded
	Old      Cause = "old"      // SQL's epoch went on: paused, resumed, changed, or a seeder died
	Ahead    Cause = "ahead"    // SQL's epoch is behind the filter's: SQL lost a raise in a failover
	DBPath   Cause = "db_path"  // orders were made that the filter has not heard of
	SoldOut  Cause = "sold_out" // SQL ran out while the filter had units
	Drift    Cause = "drift"    // quiet, and still not the same as SQL
	Command  Cause = "command"
	noReason Cause = ""
)

// look is one comparison of a sale: the filter's view and SQL's row.
type look struct {
	view        lua.View
	sale        order.Sale
	soldOut     bool // SQL refused sold_out a request that the filter had admitted
	repairAfter time.Duration
	buyers      map[string]int64 // SQL's units by user; nil where not read
}

// cause is the first reason that holds.
func (l *look) cause() Cause {
	v, s := &l.view, &l.sale
	switch {
	case s.Now >= s.EndsAt: // nobody can buy any more
		return noReason
	case v.Epoch == 0 || v.Stale:
		if s.Now < s.StartsAt {
			return Preheat
		}
		return Missing
	case v.Epoch < s.Epoch:
		return Old
	case v.Epoch > s.Epoch:
		return Ahead
	case s.DBEpoch == s.Epoch:
		return DBPath
	case l.soldOut && v.Stock > 0:
		return SoldOut
	case l.quiet() && (v.Stock != s.Num || l.buyersDiffer()):
		return Drift
	}
	return noReason
}

// tooSoon is how much longer a cause must wait: a reseed where the filter still
// works is made at most once an interval, whichever process makes it. An epoch is
// no less than SQL's clock at its raise, so the epoch itself tells how old it is;
// but for one ahead of the clock, which SQL took over from the filter after a
// failover to a clock that is behind.
func (l *look) tooSoon(c Cause, interval time.Duration) time.Duration {
	age := time.Duration(l.sale.Now-l.sale.Epoch) * time.Millisecond
	if age < 0 || c != DBPath && c != SoldOut && c != Drift {
		return 0
	}
	return max(0, interval-age)
}

// quiet says that nothing is in flight that could explain a difference: every
// admission is older than the longest wait for its placement, and every order
// that gave its units back was so long ago that the filter has heard of it.
func (l *look) quiet() bool {
	return l.sale.Now-max(l.sale.LastOrderAt, l.view.AdmittedAt) >= l.repairAfter.Milliseconds()
}

func (l *look) buyersDiffer() bool {
	if l.buyers == nil || l.view.Buyers == nil {
		return false
	}
	if len(l.buyers) != len(l.view.Buyers) {
		return true
	}
	for user, units := range l.buyers {
		if l.view.Buyers[user] != units {
			return true
		}
	}
	return false
}
