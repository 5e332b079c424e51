package reseed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rushgate/backend/order"
	"rushgate/lua"
)

// SQL is what a seeder needs of the store.
type SQL interface {
	Sale(ctx context.Context, item string) (order.Sale, error)
	Sales(ctx context.Context, endingAfter int64) ([]order.Sale, error)
	Snapshot(ctx context.Context, item string) (lua.Seed, error)
	RaiseEpoch(ctx context.Context, item string, from, floor, leaseMS int64) (epoch int64, ok bool, err error)
	EndLease(ctx context.Context, item string, epoch int64) error
	Now(ctx context.Context) (int64, error) // Unix milliseconds
}

// Options of a Seeder. All fields but Now are needed.
type Options struct {
	SQL         SQL
	Filter      lua.Filter
	PreheatLead time.Duration
	RepairAfter time.Duration // longer than a gateway waits for the backend
	Interval    time.Duration // between two looks at a sale, and the least between two reseeds of it
	Log         *slog.Logger
	Reseeded    func(item string, cause Cause) // counts; must not block
	Now         func() time.Time               // measures Interval and what a reseed takes; nil for time.Now
}

// Seeder keeps the filter right from preheat to the end of each sale. Safe for
// concurrent use; several seeders over one database do not disturb each other.
type Seeder struct {
	opt  Options
	turn sync.Mutex    // one look at a time
	wake chan struct{} // somebody asked for a look before its time

	mu    sync.Mutex
	sales map[string]*watched // open sales; swept with every round
}

// watched is what a seeder remembers of an open sale.
type watched struct {
	asked   bool // look at once; under Seeder.mu
	soldOut bool // SQL refused what the filter had admitted, and no look has answered that yet; under Seeder.mu

	notBefore time.Time // the next reseed: at most once an interval, and a twentieth of the time; under Seeder.turn
	agreed    footprint // of the last look that found nothing; under Seeder.turn
}

// New returns a Seeder. Call Sweep before the first purchase and Run after it.
func New(opt Options) *Seeder {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Seeder{opt: opt, sales: make(map[string]*watched), wake: make(chan struct{}, 1)}
}

// BypassedFilter implements order.Listener.
func (s *Seeder) BypassedFilter(item string) { s.ask(item, func(*watched) {}) }

// SoldOutBehindFilter implements order.Listener.
func (s *Seeder) SoldOutBehindFilter(item string) { s.ask(item, func(w *watched) { w.soldOut = true }) }

// ask wants a look at once at a sale that is being watched. Items nobody sells
// are not remembered.
func (s *Seeder) ask(item string, note func(*watched)) {
	s.mu.Lock()
	w := s.sales[item]
	if w != nil {
		w.asked = true
		note(w)
	}
	s.mu.Unlock()
	if w == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run looks at every open sale each interval, and at those asked for at once,
// until ctx ends.
func (s *Seeder) Run(ctx context.Context) {
	tick := time.NewTicker(s.opt.Interval)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = s.Sweep(ctx)
		case <-s.wake:
			err = s.lookAt(ctx, s.takeAsked())
		}
		if err != nil && ctx.Err() == nil {
			s.opt.Log.Warn("comparing the filter with SQL failed; trying again", "in", s.opt.Interval, "error", err)
		}
	}
}

// Sweep looks at every sale from its preheat to its end.
func (s *Seeder) Sweep(ctx context.Context) error {
	now, err := s.opt.SQL.Now(ctx)
	if err != nil {
		return err
	}
	sales, err := s.opt.SQL.Sales(ctx, now)
	if err != nil {
		return err
	}
	due := make([]string, 0, len(sales))
	for i := range sales {
		if sales[i].Preheat || sales[i].StartsAt-s.opt.PreheatLead.Milliseconds() <= now {
			due = append(due, sales[i].Item)
		}
	}
	s.watch(due)
	return s.lookAt(ctx, due)
}

// watch forgets what is no longer due and remembers what is.
func (s *Seeder) watch(due []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make(map[string]*watched, len(due))
	for _, item := range due {
		if next[item] = s.sales[item]; next[item] == nil {
			next[item] = &watched{}
		}
	}
	s.sales = next
}

func (s *Seeder) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []string
	for item, w := range s.sales {
		if w.asked {
			w.asked = false
			items = append(items, item)
		}
	}
	return items
}

func (s *Seeder) lookAt(ctx context.Context, items []string) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	var errs []error
	for _, item := range items {
		if err := s.visit(ctx, item); err != nil {
			errs = append(errs, fmt.Errorf("sale %s: %w", item, err))
		}
	}
	return errors.Join(errs...)
}
