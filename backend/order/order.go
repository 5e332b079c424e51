// Package order decides purchases. SQL is the only truth: every decision is
// taken from rows read inside the transaction that acts on it, and every write
// carries its own guard, so that nothing here depends on a lock being held.
package order

import (
	"cmp"
	"slices"

	"rushgate/backend/api"
)

// Key names one purchase attempt for ever: it is unique in SQL.
type Key struct{ User, BizID string }

// Purchase is one admitted request, as its ticket says.
type Purchase struct {
	Item  string
	Key   Key
	Qty   int64
	Epoch int64
	Path  api.Path
	Exp   int64    // Unix milliseconds; afterwards it must not become an order
	Code  api.Code // path refuse: the refusal to record
}

// Sale is a sale's row and the database's clock, read in one statement.
type Sale struct {
	Item        string
	Title       string
	PriceCents  int64
	Num         int64 // units left
	StartsAt    int64 // Unix milliseconds
	EndsAt      int64
	PerUser     int64
	Mode        string
	Paused      bool
	Preheat     bool // by command: seeded before its time
	Demo        bool
	Epoch       int64
	ReseedUntil int64
	DBEpoch     int64 // the last epoch in which the DB path sold
	LastOrderAt int64 // the last order that took units or gave them back
	Now         int64
}

// Row is an outcome about to be written: an order, or a recorded refusal.
type Row struct {
	ID    int64
	Order api.Order
	Path  api.Path
	Epoch int64
}

// Write is what one transaction adds, all or nothing.
type Write struct {
	Sale   Sale  // as read
	Rows   []Row // orders that take units, and refusals that don't
	Units  int64 // sum over the orders
	Pinned bool  // an order was admitted under Sale.Epoch, so that epoch must still hold
	DBPath bool  // an order came on the DB path, so the filter has not heard of it
}

// Takes sums the units that the write takes by user, in a fixed order so that
// two transactions never lock quota rows in opposite orders.
func (w *Write) Takes() []Take {
	byUser := make(map[string]int64, len(w.Rows))
	for i := range w.Rows {
		if o := &w.Rows[i].Order; o.State.Active() {
			byUser[o.User] += int64(o.Qty)
		}
	}
	takes := make([]Take, 0, len(byUser))
	for user, qty := range byUser {
		takes = append(takes, Take{User: user, Qty: qty})
	}
	slices.SortFunc(takes, func(a, b Take) int { return cmp.Compare(a.User, b.User) })
	return takes
}

// keys are those whose outcome the write makes.
func (w *Write) keys() map[Key]bool {
	keys := make(map[Key]bool, len(w.Rows))
	for i := range w.Rows {
		keys[Key{w.Rows[i].Order.User, w.Rows[i].Order.BizID}] = true
	}
	return keys
}

// Take is what one user takes of one item.
type Take struct {
	User string
	Qty  int64
}
