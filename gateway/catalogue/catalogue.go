// Package catalogue keeps a gateway's copy of what is on sale. It is read on
// every request without a lock, and renewed from the backend every second and
// whenever someone learns that it is old.
package catalogue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rushgate/backend/api"
)

// Source is the backend, as far as this package needs it.
type Source interface {
	Catalogue(ctx context.Context, etag string) (api.Catalogue, error)
}

// Snapshot is the catalogue at one moment. Read-only.
type Snapshot struct {
	Sales []api.Sale // as the backend lists them
	byID  map[string]int
	etag  string
}

// Sale finds an item without allocating; nil if it is not on sale.
func (s *Snapshot) Sale(item []byte) *api.Sale {
	if i, ok := s.byID[string(item)]; ok {
		return &s.Sales[i]
	}
	return nil
}

// Options of a Catalogue.
type Options struct {
	Source  Source
	Timeout time.Duration // of one renewal
	Log     *slog.Logger
	Changed func(*Snapshot) // called with each new snapshot just before it can be seen, one at a time; may be nil
}

// Catalogue is safe for concurrent use.
type Catalogue struct {
	opt     Options
	current atomic.Pointer[Snapshot] // nil until the first renewal
	up      atomic.Bool

	mu       sync.Mutex
	next     *renewal // that callers join; nil for none
	renewing bool
}

// renewal is one question to the backend, for all who asked before it was put.
type renewal struct {
	done chan struct{} // closed when err is set
	err  error
}

// New returns an empty catalogue; call Refresh or Run.
func New(opt Options) *Catalogue { return &Catalogue{opt: opt} }

// Snapshot returns the newest catalogue, nil before the first.
func (c *Catalogue) Snapshot() *Snapshot { return c.current.Load() }

// Up says whether the backend answered when last asked. While it does not, a
// purchase is refused before admission, so that no units are spent on nobody.
func (c *Catalogue) Up() bool { return c.up.Load() }

// Report tells what a call to the backend showed: one that reached no server
// makes it count as down until a renewal succeeds.
func (c *Catalogue) Report(err error) {
	if errors.Is(err, api.ErrUnreachable) {
		c.up.Store(false)
	}
}

// Refresh renews the catalogue. One call to the backend runs at a time, and
// those who ask meanwhile share the next: never the one that is under way, since
// its answer may be older than what made them ask. A call's time is
// Options.Timeout and not the ctx of whoever asked first.
func (c *Catalogue) Refresh(ctx context.Context) error {
	c.mu.Lock()
	if c.next == nil {
		c.next = &renewal{done: make(chan struct{})}
	}
	r := c.next
	if !c.renewing {
		c.renewing = true
		go c.drain(context.WithoutCancel(ctx))
	}
	c.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain makes one renewal after the other until nobody waits for one.
func (c *Catalogue) drain(ctx context.Context) {
	for {
		c.mu.Lock()
		r := c.next
		c.next = nil
		c.renewing = r != nil
		c.mu.Unlock()
		if r == nil {
			return
		}
		r.err = c.renew(ctx)
		close(r.done)
	}
}

func (c *Catalogue) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	old := c.current.Load()
	etag := ""
	if old != nil {
		etag = old.etag
	}
	fresh, err := c.opt.Source.Catalogue(ctx, etag)
	switch {
	case errors.Is(err, api.ErrNotModified):
	case err != nil:
		c.up.Store(false)
		return fmt.Errorf("renewing the catalogue: %w", err)
	default:
		c.change(&fresh)
	}
	c.up.Store(true)
	return nil
}

// change takes a new catalogue over. Whoever finds a sale in the snapshot finds
// it wherever Changed leads to, too.
func (c *Catalogue) change(fresh *api.Catalogue) {
	s := &Snapshot{Sales: fresh.Sales, byID: make(map[string]int, len(fresh.Sales)), etag: fresh.ETag}
	for i := range s.Sales {
		s.byID[s.Sales[i].Item] = i
	}
	if c.opt.Changed != nil {
		c.opt.Changed(s)
	}
	c.current.Store(s)
}

// Run renews the catalogue every interval until ctx ends. It logs when the
// backend goes away and when it is back, not every failure between.
func (c *Catalogue) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	down := !c.Up()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := c.Refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !down {
			c.opt.Log.Warn("the backend does not answer; purchases are refused until it does", "error", err)
		} else if err == nil && down {
			c.opt.Log.Info("the backend answers again")
		}
		down = err != nil
	}
}
