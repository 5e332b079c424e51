package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

// workerLease is how far ahead of its clock a process reserves numbers, and so
// how long a worker id stays taken after its owner was last heard of. It is
// renewed three times as often.
const workerLease = 30 * time.Second

// The layout of a snowflake (Twitter, 2010): 41 bits of milliseconds since
// snowflakeEpoch, which last until 2080, 10 bits of worker id, 12 of sequence.
const (
	snowflakeEpoch = 1288834974657 // Unix milliseconds
	workerBits     = 10
	sequenceBits   = 12
)

// workers is how many ids there are.
const workers = 1 << workerBits

// Numbers makes order numbers: snowflakes under a worker id that is leased in
// SQL. Safe for concurrent use.
//
// No clock is trusted for them to be unique. A lease reserves the milliseconds
// up to leased_until for its owner; the next owner of the id starts after them,
// and no number is made past them. So a clock that steps back or forward, a
// process that stops for an hour, and two owners that each believe to hold an id
// never make a number twice: at worst none is made for a while.
type Numbers struct {
	store *Store
	owner string
	log   *slog.Logger

	mu      sync.Mutex
	worker  int64
	base    int64     // Unix milliseconds at started
	started time.Time // with the monotonic reading, so that this clock never steps
	until   int64     // Unix milliseconds; reserved up to here
	last    int64     // Unix milliseconds inside the last number
	step    int64     // the sequence inside the last number
}

// NewNumbers leases a worker id for owner, a name unique to this process. Call
// Run to keep the lease and Close to give it back.
func NewNumbers(ctx context.Context, s *Store, owner string, log *slog.Logger) (*Numbers, error) {
	n := &Numbers{store: s, owner: owner, log: log}
	return n, n.acquire(ctx)
}

// errNoLease: numbers could collide, so none is made. Definitely not done.
var errNoLease = fmt.Errorf("the lease on the order-number worker id ran out (is the database reachable?): %w", api.ErrFailed)

// Next implements order.Numbers. It never waits: where a millisecond has no
// number left, the next one begins early.
func (n *Numbers) Next() (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ms, step := max(n.clock(), n.last), int64(0)
	if ms == n.last {
		step = n.step + 1
	}
	if step == 1<<sequenceBits {
		ms, step = ms+1, 0
	}
	if ms > n.until {
		return 0, errNoLease
	}
	n.last, n.step = ms, step
	return (ms-snowflakeEpoch)<<(workerBits+sequenceBits) | n.worker<<sequenceBits | step, nil
}

// clock is Unix milliseconds since the lease was taken, counted by the monotonic
// clock. The caller holds mu.
func (n *Numbers) clock() int64 { return n.base + n.store.now().Sub(n.started).Milliseconds() }

// Run renews the lease until ctx ends.
func (n *Numbers) Run(ctx context.Context) {
	tick := time.NewTicker(workerLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := n.Keep(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("renewing the order-number worker id failed; placing stops when the lease runs out", "lease", workerLease, "error", err)
		}
	}
}

// Keep renews the lease once, or takes another id where this one has a new
// owner. Run calls it.
func (n *Numbers) Keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, workerLease/3)
	defer cancel()
	err := n.renew(ctx)
	if errors.Is(err, order.ErrGuard) { // we were silent for too long
		err = n.acquire(ctx)
	}
	return err
}

// Close gives the id back: it is free again once the clock has passed the last
// number made under it.
func (n *Numbers) Close(ctx context.Context) error {
	n.mu.Lock()
	worker, last := n.worker, n.last
	n.until = 0
	n.mu.Unlock()
	_, err := n.session().exec(ctx, "UPDATE worker_ids SET leased_until = ? WHERE id = ? AND owner = ?", last, worker, n.owner)
	return err
}

func (n *Numbers) renew(ctx context.Context) error {
	n.mu.Lock()
	worker, until := n.worker, max(n.clock(), n.last)+workerLease.Milliseconds()
	n.mu.Unlock()
	err := n.session().exactly(ctx, 1, "UPDATE worker_ids SET leased_until = "+n.store.d.greatest+"(leased_until, ?) WHERE id = ? AND owner = ?", until, worker, n.owner)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until = max(n.until, until)
	return nil
}

// session is outside any transaction: each statement is its own.
func (n *Numbers) session() session { return session{n.store.write, n.store.d, writeTime} }

// claimPause is between two attempts at an id: about as long as one takes.
const claimPause = 5 * time.Millisecond

// acquire leases an id. Of processes that start together one gets the lowest that
// is free, and the others try the next.
func (n *Numbers) acquire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, workerLease/3)
	defer cancel()
	for {
		err := n.claim(ctx)
		if err == nil {
			return nil
		}
		again := errors.Is(err, order.ErrGuard) || errors.Is(err, order.ErrBusy)
		select {
		case <-time.After(claimPause):
		case <-ctx.Done():
			again = false
		}
		if !again {
			return fmt.Errorf("leasing an order-number worker id: %w", err)
		}
	}
}

// claim takes the lowest free id; order.ErrGuard if another process was faster.
func (n *Numbers) claim(ctx context.Context) error {
	var worker, now int64
	var started time.Time
	err := n.store.inTx(ctx, func(q session) (err error) {
		// One reading of the clock says which ids are free and where the
		// numbers begin: of two, the second could be the earlier.
		started = n.store.now()
		if now = started.UnixMilli(); now <= snowflakeEpoch {
			return fmt.Errorf("the clock says %s: set it", started.UTC().Format(time.DateOnly))
		}
		if worker, err = freeWorker(ctx, q, now); err != nil {
			return err
		}
		return n.lease(ctx, q, worker, now)
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.worker, n.base, n.started = worker, now, started
	n.until, n.last, n.step = now+workerLease.Milliseconds(), now, -1
	return nil
}

// lease writes the owner of an id that is still free, or was never leased.
func (n *Numbers) lease(ctx context.Context, q session, worker, now int64) error {
	until := now + workerLease.Milliseconds()
	changed, err := q.exec(ctx, "UPDATE worker_ids SET owner = ?, leased_until = ? WHERE id = ? AND leased_until < ?", n.owner, until, worker, now)
	if err != nil || changed == 1 {
		return err
	}
	_, err = q.exec(ctx, "INSERT INTO worker_ids (id, owner, leased_until) VALUES (?,?,?)", worker, n.owner, until)
	return err
}

// freeWorker is the lowest id of which no number is reserved at now or later.
func freeWorker(ctx context.Context, q session, now int64) (int64, error) {
	taken := make(map[int64]bool)
	err := q.each(ctx, "SELECT id FROM worker_ids WHERE leased_until >= ?", []any{now}, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		taken[id] = true
		return err
	})
	if err != nil {
		return 0, err
	}
	for id := range int64(workers) {
		if !taken[id] {
			return id, nil
		}
	}
	return 0, fmt.Errorf("all %d worker ids are leased; stop a backend or wait %s", workers, workerLease)
}
