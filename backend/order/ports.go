package order

import (
	"context"
	"errors"

	"rushgate/backend/api"
)

// Store runs transactions. Safe for concurrent use.
type Store interface {
	// Update runs f in one transaction and commits if f returns nil. It returns
	// f's error, or ErrGuard, ErrBusy or ErrCommit; anything else was rolled
	// back. It keeps to the deadline of ctx.
	Update(ctx context.Context, f func(Tx) error) error
	// Outcome looks (user, biz_id) up on a connection that no earlier call
	// used; api.ErrNotFound if there is none.
	Outcome(ctx context.Context, k Key) (api.Order, error)
}

// Tx is the inside of a transaction that places purchases.
type Tx interface {
	// Read returns the sale, the outcomes that exist for the keys, and what
	// the keys' users hold of the item. api.ErrNotFound: no such sale.
	Read(ctx context.Context, item string, keys []Key) (Sale, map[Key]api.Order, map[string]int64, error)
	// Write adds the rows; ErrGuard if a guard in SQL did not hold.
	Write(ctx context.Context, w Write) error
}

var (
	// ErrGuard: a row changed between reading and writing. Rolled back; read again.
	ErrGuard = errors.New("a guard in SQL did not hold")
	// ErrBusy: the database could not take the transaction now. Rolled back.
	ErrBusy = errors.New("database busy")
	// ErrCommit: the commit was sent and its answer is not known.
	ErrCommit = errors.New("commit outcome unknown")
)

// Locker reduces contention on an item. It is no correctness device: the sale
// is exact with lock.None.
type Locker interface {
	// Lock waits for as long as ctx lasts, and for nothing else: a lock that is
	// held outlives ctx. The context it returns is cancelled, with its cause,
	// when the lock is lost; unlock gives the lock back and is called once.
	Lock(ctx context.Context, key string) (held context.Context, unlock func() error, err error)
}

// Numbers hands out order numbers: positive, unique for ever, roughly by time.
type Numbers interface {
	Next() (int64, error)
}

// Listener hears what placements mean for the filter. Calls are made after the
// transaction, must not block, and may come from many goroutines.
type Listener interface {
	// BypassedFilter: a purchase came on the DB path, so the filter may be
	// unfit, and has not heard of the order if one was made.
	BypassedFilter(item string)
	// SoldOutBehindFilter: SQL had fewer units than the filter admitted.
	SoldOutBehindFilter(item string)
}

// Meter counts. Result is an order state, a refusal code, or one of "stale",
// "mismatch", "failed", "unknown". Calls must not block.
type Meter interface {
	Placed(path api.Path, result string, again bool)
	Group(size int)
	Unlocked() // placed without the lock, which could not be had in time
}

// LifeStore changes orders that exist. Each change is one conditional update
// inside one transaction: the first to arrive decides, the others learn where
// the order stands. api.ErrNotFound: this user has no such order.
type LifeStore interface {
	// Pay moves an order from created to paid unless its time is over.
	Pay(ctx context.Context, user string, id int64) (o api.Order, changed bool, err error)
	// Cancel moves an order from created to cancelled and gives units and quota back.
	Cancel(ctx context.Context, user string, id int64) (o api.Order, changed bool, err error)
	// Expire moves up to limit unpaid orders whose time is over to expired,
	// gives their units and quota back, and returns them, also beside an error.
	Expire(ctx context.Context, limit int) ([]api.Order, error)
}

// Restorer tells the filter of units that SQL has taken back.
type Restorer interface {
	Restore(ctx context.Context, item, user, bizID string, qty int64) (bool, error)
}
