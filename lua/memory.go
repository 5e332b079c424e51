package lua

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// DefaultKeep is how long a sale is remembered after its end where
// [MemoryOptions] doesn't say.
const DefaultKeep = 2 * time.Hour

// MemoryOptions are what a [Memory] can be told. The zero value works.
type MemoryOptions struct {
	// Now is the filter's clock; nil means time.Now. It is called while a sale
	// is locked and must not call the Memory.
	Now func() time.Time
	// Keep is how long after its end a sale is remembered; 0 or less means
	// DefaultKeep. Until then a late request is told Ended, afterwards Stale.
	Keep time.Duration
}

// Memory is an admission filter inside one process: what Redis keeps, and the
// same decisions. It starts empty, so everything is [Stale] until it is seeded.
// It is as forgetful as a server of its own: what it knew is gone with the
// process, and a seed from SQL makes it right again.
//
// A batch is decided under its item's lock, by one reading of the clock, and
// items never wait for each other. No call waits for anything but that lock,
// which is held for computing only. A context that is over before a call starts
// ends it with the context's error. Whatever the error, nothing was executed.
type Memory struct {
	now      func() time.Time
	keep     int64        // milliseconds
	versions atomic.Int64 // last one given: a version is used once, also across epochs and losses
	running  atomic.Pointer[server]
}

var _ Filter = (*Memory)(nil)

// NewMemory returns an empty filter.
func NewMemory(o MemoryOptions) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	m := &Memory{now: o.Now, keep: o.Keep.Milliseconds()}
	m.running.Store(newServer())
	return m
}

// Admit implements [Filter]. Reply.Buyers is shared with others who were told
// the same version: it never changes, may be read by any number of goroutines for
// as long as they like, and must not be written to.
func (m *Memory) Admit(ctx context.Context, b Batch) (Reply, error) {
	if err := ctx.Err(); err != nil {
		return Reply{}, fmt.Errorf("admit %q: %w", b.Item, err)
	}
	if err := checkBatch(b); err != nil {
		return Reply{}, err
	}
	s, a := m.hold(b.Item)
	defer s.mu.Unlock()
	a.epoch = b.Epoch

	reply := Reply{Verdicts: make([]Verdict, len(b.Requests)), Now: a.now}
	for i, r := range b.Requests {
		reply.Verdicts[i] = decide(s, a, r)
		if reply.Verdicts[i] == Admitted {
			s.take(r)
		}
	}
	if s.staleTo(a) {
		return reply, nil
	}
	if slices.Contains(reply.Verdicts, Admitted) {
		s.admittedAt = a.now
		s.changed(m.versions.Add(1))
	}
	reply.Left, reply.Version = s.stock, s.version
	if b.Version != s.version && slices.Contains(reply.Verdicts, SoldOut) {
		reply.Buyers = s.userSet()
	}
	return reply, nil
}

// Restore implements [Filter]. An attempt that this epoch admitted gives back
// what it took, whatever qty says. Of an attempt that came with a seed only the
// user's total is known: it gives back qty, but never more than is left of that
// total. An attempt that the filter doesn't know, and a sale that is stale, are
// left alone: the next seed counts their units from SQL.
func (m *Memory) Restore(ctx context.Context, item, user, bizID string, qty int64) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("restore %q: %w", item, err)
	}
	if err := checkRestore(item, qty); err != nil {
		return false, err
	}
	s, _ := m.hold(item)
	defer s.mu.Unlock()
	if !s.giveBack(user, bizID, qty) { // a sale that is stale has no buyers
		return false, nil
	}
	s.changed(m.versions.Add(1))
	return true, nil
}

// Seed implements [Filter]. An epoch that was seeded before a loss or a failover
// counts too, as long as anything of it is there.
func (m *Memory) Seed(ctx context.Context, s Seed) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("seed %q: %w", s.Item, err)
	}
	if err := checkSeed(s); err != nil {
		return err
	}
	srv := m.running.Load()
	next := newSale(s, srv.origin, m.keep, m.versions.Add(1))
	return srv.open(s.Item, next, m.millis())
}

// View implements [Filter]. Of a sale that is stale it tells the epoch alone:
// numbers that may be wrong in any direction are not worth comparing.
func (m *Memory) View(ctx context.Context, item string, withBuyers bool) (View, error) {
	if err := ctx.Err(); err != nil {
		return View{}, fmt.Errorf("view %q: %w", item, err)
	}
	s, a := m.hold(item)
	defer s.mu.Unlock()
	if s.foreign(a.origin) {
		return View{Epoch: s.epoch, Stale: true}, nil
	}
	v := View{Epoch: s.epoch, Stock: s.stock, AdmittedAt: s.admittedAt, Version: s.version}
	if withBuyers {
		v.Buyers = s.units()
	}
	return v, nil
}

// hold returns the item's sale, locked, or the zero sale where nothing is known;
// the caller unlocks it. The clock is read under the lock, so that an item's
// decisions are made in the order of their times.
func (m *Memory) hold(item string) (*sale, asking) {
	srv := m.running.Load()
	if s := srv.find(item); s != nil {
		s.mu.Lock()
		a := asking{origin: srv.origin, now: m.millis()}
		if !s.forgotten(a.now) {
			return s, a
		}
		s.mu.Unlock()
		srv.forget(item, s)
	}
	nothing := new(sale)
	nothing.mu.Lock()
	return nothing, asking{origin: srv.origin, now: m.millis()}
}

func (m *Memory) millis() int64 { return m.now().UnixMilli() }
