package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rushgate/backend/api"
)

// maxGroup bounds one transaction: beyond about a hundred orders a longer group
// gains little and every member waits for the last.
const maxGroup = 128

// Options of a Placer. All fields are needed.
type Options struct {
	Store    Store
	Locker   Locker
	Numbers  Numbers
	Listener Listener
	Meter    Meter
	// ItemConcurrency is how many purchases of one item are taken at a time;
	// more are turned away before they reach the database, so that a gateway
	// gone wrong cannot drown it.
	ItemConcurrency int
	PayWithin       time.Duration
	LockWait        time.Duration // afterwards the group is placed without the lock
	Timeout         time.Duration // for one group, lock and transaction together
}

// Placer places purchases. Concurrent purchases of one item share a transaction
// (group commit): while one group commits the next collects, without a timer,
// so a lone purchase is never delayed. Safe for concurrent use.
type Placer struct {
	opt    Options
	mu     sync.Mutex
	lanes  map[string]*lane // items with purchases in flight; an idle one has no entry
	closed bool
	wg     sync.WaitGroup
}

// lane is the queue of one item. Its fields belong to Placer.mu.
type lane struct {
	waiting []*call
	total   int // waiting and running
}

// call is one purchase on its way through a lane.
type call struct {
	purchase Purchase
	taken    atomic.Bool // by the group, or by its own caller who gave up before that
	answer   chan Answer // buffered: the group never waits for a caller
}

// NewPlacer returns a Placer. Close it at the end.
func NewPlacer(opt Options) *Placer {
	return &Placer{opt: opt, lanes: make(map[string]*lane)}
}

// Definitely not done: the cap per item is reached, or Close was called.
var (
	errItemBusy = wrapFailed("too many purchases of this item at a time")
	errClosed   = wrapFailed("placing has ended: the backend is stopping")
)

// Place takes one purchase to its outcome. When ctx ends first, the error is
// api.ErrFailed if no group had taken the purchase yet, else api.ErrUnknown.
func (p *Placer) Place(ctx context.Context, purchase Purchase) (api.Order, error) {
	c := &call{purchase: purchase, answer: make(chan Answer, 1)}
	if err := p.enqueue(c); err != nil {
		p.opt.Meter.Placed(purchase.Path, "failed", false)
		return api.Order{}, err
	}
	select {
	case a := <-c.answer:
		return a.Order, a.Err
	case <-ctx.Done():
	}
	if c.taken.CompareAndSwap(false, true) {
		p.opt.Meter.Placed(purchase.Path, "failed", false)
		return api.Order{}, fmt.Errorf("gave up waiting for a turn: %w", api.ErrFailed)
	}
	select {
	case a := <-c.answer: // it came at the same moment
		return a.Order, a.Err
	default:
		return api.Order{}, fmt.Errorf("placing: %w", api.ErrUnknown)
	}
}

// Close turns later calls away and waits for the groups of the earlier ones.
func (p *Placer) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wg.Wait()
}

// enqueue adds a call to its lane and starts the lane if it was idle.
func (p *Placer) enqueue(c *call) error {
	item := c.purchase.Item
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[item]
	switch {
	case p.closed:
		return errClosed
	case l != nil && l.total >= p.opt.ItemConcurrency:
		return errItemBusy
	case l == nil:
		l = &lane{}
		p.lanes[item] = l
		p.wg.Go(func() { p.drain(item, l) })
	}
	l.total++
	l.waiting = append(l.waiting, c)
	return nil
}

// drain runs group after group until nobody waits.
func (p *Placer) drain(item string, l *lane) {
	for done := 0; ; {
		p.mu.Lock()
		l.total -= done
		if len(l.waiting) == 0 {
			delete(p.lanes, item)
			p.mu.Unlock()
			return
		}
		n := min(len(l.waiting), maxGroup)
		batch := l.waiting[:n:n]
		l.waiting = l.waiting[n:]
		p.mu.Unlock()
		p.run(item, batch)
		done = n
	}
}

// run places one group under the lock. The lock is given back after the
// commit: given back before, the next holder would read what is about to change.
func (p *Placer) run(item string, batch []*call) {
	group := make([]*call, 0, len(batch))
	purchases := make([]Purchase, 0, len(batch))
	for _, c := range batch {
		if c.taken.CompareAndSwap(false, true) {
			group = append(group, c)
			purchases = append(purchases, c.purchase)
		}
	}
	if len(group) == 0 {
		return
	}
	p.opt.Meter.Group(len(group))
	ctx, cancel := context.WithTimeout(context.Background(), p.opt.Timeout)
	defer cancel()
	unlock := func() {}
	if wantsLock(purchases) {
		unlock = p.lock(ctx, item)
	}
	answers := p.transact(ctx, item, purchases)
	unlock()
	for i, c := range group {
		p.report(&c.purchase, &answers[i])
		c.answer <- answers[i]
	}
}

// wantsLock says that units are taken with the filter's leave. On the DB path the
// lock's Redis is most likely away with the filter, and a refusal takes no units.
func wantsLock(group []Purchase) bool {
	return slices.ContainsFunc(group, func(p Purchase) bool { return p.Path != api.PathDB && p.Path != api.PathRefuse })
}

// lock takes the item's lock, or goes on without it: the guards in SQL hold
// either way. A lost lock does not stop the group for the same reason.
func (p *Placer) lock(ctx context.Context, item string) (unlock func()) {
	ctx, cancel := context.WithTimeout(ctx, p.opt.LockWait)
	defer cancel()
	_, release, err := p.opt.Locker.Lock(ctx, item)
	if err != nil {
		p.opt.Meter.Unlocked()
		return func() {}
	}
	return func() { _ = release() } // a lock lost meanwhile is the lock's own metric
}

// report tells the meter, and the listener what the filter should hear.
func (p *Placer) report(purchase *Purchase, a *Answer) {
	p.opt.Meter.Placed(purchase.Path, a.Result(), a.Again)
	if purchase.Path == api.PathDB {
		p.opt.Listener.BypassedFilter(purchase.Item)
	}
	var refusal *api.Refusal
	if !a.Again && purchase.Path == api.PathRedis && errors.As(a.Err, &refusal) && refusal.Code == api.SoldOut {
		p.opt.Listener.SoldOutBehindFilter(purchase.Item)
	}
}
