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

// Options of a backend.
type Options struct {
	Config   config.Config
	Filter   lua.Filter // nil: there is none, and every purchase comes on the DB path
	Locker   order.Locker
	Log      *slog.Logger
	Registry prometheus.Registerer
	Now      func() time.Time // the clock of an embedded database; nil for time.Now
}

// Backend keeps the orders. Safe for concurrent use.
type Backend struct {
	Store  *store.Store
	Seeder *reseed.Seeder // nil without a filter

	opt     Options
	numbers *store.Numbers
	placer  *order.Placer
	life    *order.Life
	stop    context.CancelFunc
	running sync.WaitGroup
}

// OpenStore connects the database that the configuration names, and creates it
// where it is embedded.
func OpenStore(ctx context.Context, c *config.Config, now func() time.Time) (*store.Store, error) {
	if c.SQL.DSN == "" {
		if err := os.MkdirAll(c.Data, 0o750); err != nil {
			return nil, fmt.Errorf("data folder: %w (choose another with --data)", err)
		}
	}
	return store.Open(ctx, store.Options{Driver: c.SQL.Driver, DSN: DatabaseFile(c), Now: now})
}

// DatabaseFile is where the embedded database is.
func DatabaseFile(c *config.Config) string {
	if c.SQL.DSN != "" {
		return c.SQL.DSN
	}
	return filepath.Join(c.Data, "rushgate.db")
}

// Open connects everything and starts nothing: call Start.
func Open(ctx context.Context, opt Options) (*Backend, error) {
	if opt.Locker == nil {
		opt.Locker = lock.None{}
	}
	s, err := OpenStore(ctx, &opt.Config, opt.Now)
	if err != nil {
		return nil, err
	}
	numbers, err := store.NewNumbers(ctx, s, uuid.NewString(), opt.Log)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	b := &Backend{Store: s, opt: opt, numbers: numbers, stop: func() {}}
	m := newMetrics(opt.Registry)
	c := &opt.Config
	var listener order.Listener = noFilter{}
	var restorer order.Restorer = noFilter{}
	if opt.Filter != nil {
		b.Seeder = reseed.New(reseed.Options{
			SQL: s, Filter: opt.Filter, PreheatLead: time.Duration(c.Sales.PreheatLead), RepairAfter: time.Duration(c.Sales.RepairAfter),
			Interval: lookEvery, Log: opt.Log, Reseeded: m.reseeded,
		})
		listener, restorer = b.Seeder, opt.Filter
	}
	b.life = &order.Life{Store: s, Filter: restorer, Log: opt.Log}
	b.placer = order.NewPlacer(order.Options{
		Store: s, Locker: opt.Locker, Numbers: numbers, Listener: listener, Meter: m,
		ItemConcurrency: c.Orders.ItemConcurrency, PayWithin: time.Duration(c.Orders.PayWithin),
		LockWait: time.Duration(c.Lock.Wait), Timeout: time.Duration(c.Upstreams["backend"].Timeout),
	})
	return b, nil
}

// Start seeds the filter for every open sale, then keeps it right, orders
// expiring and the worker id leased, until Close.
func (b *Backend) Start(ctx context.Context) error {
	if b.Seeder != nil {
		if err := b.Seeder.Sweep(ctx); err != nil {
			return fmt.Errorf("seeding the filter from SQL: %w", err)
		}
	}
	var running context.Context
	running, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	if b.Seeder != nil {
		b.running.Go(func() { b.Seeder.Run(running) })
	}
	b.running.Go(func() { b.life.Run(running, lookEvery) })
	b.running.Go(func() { b.numbers.Run(running) })
	return nil
}

// Close ends the background work, waits for the placements that are running and
// closes the database. Call it after the last request.
func (b *Backend) Close(ctx context.Context) error {
	b.placer.Close()
	b.stop()
	b.running.Wait()
	return errors.Join(b.numbers.Close(ctx), b.Store.Close())
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
