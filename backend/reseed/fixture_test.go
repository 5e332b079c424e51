package reseed_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/lock"
	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
	"rushgate/lua"
)

const (
	interval    = time.Second
	repairAfter = 4 * time.Second
	lead        = 10 * time.Minute
	lease       = 5 * time.Second
)

// world is a database, a filter and a seeder between them, on one clock that
// the test moves.
type world struct {
	t      *testing.T
	clock  *storetest.Clock
	file   string
	store  *store.Store
	nums   *store.Numbers
	filter *lua.Memory
	seeder *reseed.Seeder
	placer *order.Placer

	mu   sync.Mutex
	done []reseeded
}

// reseeded is one reseed that the seeder counted.
type reseeded struct {
	item  string
	cause reseed.Cause
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: storetest.NewClock(), file: filepath.Join(t.TempDir(), "rushgate.db")}
	w.store = storetest.OpenFile(t, w.file, w.clock.Now)
	var err error
	if w.nums, err = store.NewNumbers(t.Context(), w.store, rand.Text(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	w.filter = lua.NewMemory(lua.MemoryOptions{Now: w.clock.Now})
	w.seeder = w.newSeeder(w.store, w.filter)
	w.placer = order.NewPlacer(order.Options{
		Store: w.store, Locker: lock.None{}, Numbers: w.nums, Listener: w.seeder, Meter: noMeter{},
		ItemConcurrency: 1 << 20, PayWithin: 15 * time.Minute, LockWait: time.Second, Timeout: 30 * time.Second,
	})
	t.Cleanup(w.placer.Close)
	return w
}

func (w *world) newSeeder(sql reseed.SQL, filter lua.Filter) *reseed.Seeder {
	return reseed.New(reseed.Options{
		SQL: sql, Filter: filter, PreheatLead: lead, RepairAfter: repairAfter, Interval: interval,
		Log: slog.New(slog.DiscardHandler), Now: w.clock.Now,
		Reseeded: func(item string, cause reseed.Cause) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.done = append(w.done, reseeded{item, cause})
		},
	})
}

// noMeter counts nothing.
type noMeter struct{}

func (noMeter) Placed(api.Path, string, bool) {}
func (noMeter) Group(int)                     {}
func (noMeter) Unlocked()                     {}

// create puts an item on sale that opens after some time, one a user.
func (w *world) create(item string, units int64, opens time.Duration) {
	w.t.Helper()
	now := w.now()
	storetest.Create(w.t, w.store, order.Sale{
		Item: item, Title: "Item " + item, PriceCents: 100, Num: units, PerUser: 1, Mode: "sync",
		StartsAt: now + opens.Milliseconds(), EndsAt: now + opens.Milliseconds() + time.Hour.Milliseconds(),
	})
}

// now is SQL's clock.
func (w *world) now() int64 {
	w.t.Helper()
	now, err := w.store.Now(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return now
}

// open makes an item that is being sold, seeded and quiet, and forgets the
// reseeds so far.
func (w *world) open(item string, units int64) {
	w.t.Helper()
	w.create(item, units, -time.Minute)
	w.sweep()
	w.wait(interval + time.Millisecond) // the clock stood still between two epochs: the second is ahead of it
	w.done = nil
}

// wait moves the clock, and keeps the lease on the order numbers.
func (w *world) wait(d time.Duration) {
	w.t.Helper()
	w.clock.Add(d)
	if err := w.nums.Keep(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sweep() {
	w.t.Helper()
	if err := w.seeder.Sweep(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// sweeps moves on by a second, look by look.
func (w *world) sweeps(n int) {
	w.t.Helper()
	for range n {
		w.wait(interval)
		w.sweep()
	}
}

// reseededFor fails the test unless the item's reseeds since the last call had
// these causes.
func (w *world) reseededFor(item string, want ...reseed.Cause) {
	w.t.Helper()
	var got []reseed.Cause
	for _, r := range w.done {
		if r.item == item {
			got = append(got, r.cause)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("item %s was reseeded for %v, want %v", item, got, want)
	}
	w.done = slices.DeleteFunc(w.done, func(r reseeded) bool { return r.item == item })
}

func (w *world) sale(item string) order.Sale {
	w.t.Helper()
	v, err := w.store.Sale(w.t.Context(), item)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) view(item string) lua.View {
	w.t.Helper()
	v, err := w.filter.View(w.t.Context(), item, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// agrees fails the test unless the filter is as SQL says, and no lease is left.
func (w *world) agrees(item string) {
	w.t.Helper()
	if v := w.sale(item); v.ReseedUntil != 0 {
		w.t.Errorf("item %s: a lease until %d is left", item, v.ReseedUntil)
	}
	r, err := reseed.Audit(w.t.Context(), w.store, w.filter, item)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range r.Findings {
		w.t.Errorf("audit of %s: %s %s: %s", item, f.Rule, f.Class, f.Detail)
	}
}

// ticket is a purchase of one unit under the sale's epoch.
func (w *world) ticket(item, user string, path api.Path) order.Purchase {
	w.t.Helper()
	return purchase(item, user, path, w.sale(item).Epoch)
}

func purchase(item, user string, path api.Path, epoch int64) order.Purchase {
	return order.Purchase{Item: item, Key: order.Key{User: user, BizID: "k-" + item}, Qty: 1, Path: path, Epoch: epoch, Exp: math.MaxInt64}
}

// place makes an order that must succeed.
func (w *world) place(item, user string, path api.Path) api.Order {
	w.t.Helper()
	o, err := w.placer.Place(w.t.Context(), w.ticket(item, user, path))
	if err != nil {
		w.t.Fatalf("placing for %s on path %s: %v", user, path, err)
	}
	return o
}

// admit asks the filter for a unit, under the sale's epoch.
func (w *world) admit(item, user string) lua.Verdict {
	w.t.Helper()
	reply, err := w.filter.Admit(context.Background(), lua.Batch{
		Item: item, Epoch: w.sale(item).Epoch, Requests: []lua.Request{{User: user, BizID: "k-" + item, Qty: 1}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Verdicts[0]
}

// buy takes a unit through the filter and SQL.
func (w *world) buy(item, user string) api.Order {
	w.t.Helper()
	if v := w.admit(item, user); v != lua.Admitted {
		w.t.Fatalf("%s: the filter says %v", user, v)
	}
	return w.place(item, user, api.PathRedis)
}

// damage changes the data past the store.
func (w *world) damage(statements string) {
	w.t.Helper()
	storetest.Exec(w.t, w.file, statements)
}

// number is an order's.
func number(t *testing.T, o api.Order) int64 {
	t.Helper()
	n, err := strconv.ParseInt(o.OrderID, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
