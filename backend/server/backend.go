// Package server assembles the backend: SQL, the placer, the seeder and the
// expiry, behind the interface of backend/api, which a gateway in the same
// process calls directly and one elsewhere calls over HTTP.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rushgate/backend/api"
	"rushgate/backend/lock"
	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store"
	"rushgate/config"
	"rushgate/lua"
)

// lookEvery is how often the seeder compares each open sale with SQL, and how
// often unpaid orders are expired.
const lookEvery = time.Second

// seedTime bounds the wait of a start for the filter. What it was too short for is
// seeded by the rounds that follow.
const seedTime = 10 * time.Second

// Options of a backend.
type Options struct {
	Config   config.Config
	Filter   lua.Filter   // nil: the one in the configured Redis; without one every purchase comes on the DB path
	Locker   order.Locker // nil: in the configured Redis, or none
	Log      *slog.Logger
	Registry prometheus.Registerer
	Now      func() time.Time // the clock of an embedded database; nil for time.Now
}

// Backend keeps the orders. Safe for concurrent use.
type Backend struct {
	Store  *store.Store
	Seeder *reseed.Seeder // nil without a filter

	opt     Options
	clock   clock
	numbers *store.Numbers // nil until they are leased
	placer  *order.Placer
	life    *order.Life
	stop    context.CancelFunc
	running sync.WaitGroup
	closers []func(context.Context) error // called last to first
}

// OpenStore connects the database that the configuration names, and creates it
// where it is embedded.
func OpenStore(ctx context.Context, c *config.Config, now func() time.Time) (*store.Store, error) {
	if c.SQL.DSN == "" {
		if err := os.MkdirAll(c.Data, 0o750); err != nil {
			return nil, fmt.Errorf("data folder: %w (choose another with --data)", err)
		}
	}
	return store.Open(ctx, store.Options{Driver: c.SQL.Driver, DSN: DatabaseFile(c), Conns: c.SQL.Conns, Now: now})
}

// DatabaseFile is where the embedded database is.
func DatabaseFile(c *config.Config) string {
	if c.SQL.DSN != "" {
		return c.SQL.DSN
	}
	return filepath.Join(c.Data, "rushgate.db")
}

// Open connects everything and starts nothing: call Start. A Redis that does not
// answer is no error: the sale goes on without it.
func Open(ctx context.Context, opt Options) (b *Backend, err error) {
	b = &Backend{opt: opt, stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.closeAll(ctx))
			b = nil
		}
	}()
	if b.Store, err = OpenStore(ctx, &opt.Config, opt.Now); err != nil {
		return b, err
	}
	b.onClose(func(context.Context) error { return b.Store.Close() })
	b.clock.sql, b.clock.local = b.Store.Now, opt.Now
	if opt.Now == nil {
		b.clock.local = time.Now
	}
	if err = b.clock.look(ctx); err != nil {
		return b, err
	}
	if err = b.openRedis(); err != nil {
		return b, err
	}
	if b.opt.Locker == nil {
		b.opt.Locker = lock.None{}
	}
	numbers, err := store.NewNumbers(ctx, b.Store, uuid.NewString(), opt.Log)
	if err != nil {
		return b, err
	}
	b.onClose(numbers.Close)
	b.numbers = numbers
	b.assemble()
	return b, nil
}

// assemble puts what was opened together.
func (b *Backend) assemble() {
	m := newMetrics(b.opt.Registry)
	c := &b.opt.Config
	var listener order.Listener = noFilter{}
	var restorer order.Restorer = noFilter{}
	if b.opt.Filter != nil {
		b.Seeder = reseed.New(reseed.Options{
			SQL: b.Store, Filter: b.opt.Filter, PreheatLead: time.Duration(c.Sales.PreheatLead), RepairAfter: time.Duration(c.Sales.RepairAfter),
			Interval: lookEvery, Log: b.opt.Log, Reseeded: m.reseeded,
		})
		listener, restorer = b.Seeder, b.opt.Filter
	}
	b.life = &order.Life{Store: b.Store, Filter: restorer, Log: b.opt.Log}
	b.placer = order.NewPlacer(order.Options{
		Store: b.Store, Locker: b.opt.Locker, Numbers: b.numbers, Listener: listener, Meter: m,
		ItemConcurrency: c.Orders.ItemConcurrency, PayWithin: time.Duration(c.Orders.PayWithin),
		LockWait: time.Duration(c.Lock.Wait), Timeout: time.Duration(c.Upstreams["backend"].Timeout),
	})
}

// Start seeds the filter for every open sale, then keeps it right, orders
// expiring and the worker id leased, until Close. A filter that does not answer
// is seeded as soon as it does; until then purchases come on the DB path.
func (b *Backend) Start(ctx context.Context) {
	if b.Seeder != nil {
		b.seedAtStart(ctx)
	}
	var running context.Context
	running, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	if b.Seeder != nil {
		b.running.Go(func() { b.Seeder.Run(running) })
	}
	b.running.Go(func() { b.clock.run(running, lookEvery) })
	b.running.Go(func() { b.life.Run(running, lookEvery) })
	b.running.Go(func() { b.numbers.Run(running) })
}

func (b *Backend) seedAtStart(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, seedTime)
	defer cancel()
	if err := b.Seeder.Sweep(ctx); err != nil {
		b.opt.Log.Warn("seeding the filter from SQL failed; trying again every second, and selling on the DB path until then", "error", err)
	}
}

// Close ends the background work, waits for the placements that are running and
// closes the database. Call it after the last request.
func (b *Backend) Close(ctx context.Context) error {
	b.placer.Close()
	b.stop()
	b.running.Wait()
	return b.closeAll(ctx)
}

func (b *Backend) onClose(f func(context.Context) error) { b.closers = append(b.closers, f) }

func (b *Backend) closeAll(ctx context.Context) error {
	var errs []error
	for _, f := range slices.Backward(b.closers) {
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}

// noFilter stands where there is nothing to tell.
type noFilter struct{}

func (noFilter) BypassedFilter(string)      {}
func (noFilter) SoldOutBehindFilter(string) {}
func (noFilter) Restore(context.Context, string, string, string, int64) (bool, error) {
	return false, nil
}

var (
	_ lock.Locker  = order.Locker(nil)
	_ order.Locker = lock.None{}
	_ api.Orders   = (*Backend)(nil)
)
