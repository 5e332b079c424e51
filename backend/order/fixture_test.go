package order_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/lock"
	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// shop is a placer over a real database.
type shop struct {
	*order.Placer
	store  *store.Store
	opened order.Store // what the placer has: the store, or a faulty one before it
	nums   *store.Numbers
	heard  heard
}

// heard counts what the placer told its listener and its meter.
type heard struct {
	bypassed, behind, unlocked, groups, largest atomic.Int64
	placed                                      sync.Map // result → *atomic.Int64
}

func (h *heard) BypassedFilter(string)      { h.bypassed.Add(1) }
func (h *heard) SoldOutBehindFilter(string) { h.behind.Add(1) }
func (h *heard) Unlocked()                  { h.unlocked.Add(1) }

func (h *heard) Placed(_ api.Path, result string, _ bool) {
	n, _ := h.placed.LoadOrStore(result, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

func (h *heard) Group(size int) {
	h.groups.Add(1)
	h.largest.Store(max(h.largest.Load(), int64(size)))
}

// results is how often a result was counted.
func (h *heard) results(result string) int64 {
	n, ok := h.placed.Load(result)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// open builds a shop; change may alter its options.
func open(t *testing.T, s *store.Store, change func(*order.Options)) *shop {
	t.Helper()
	sh := &shop{store: s, nums: numbers(t, s)}
	opt := order.Options{
		Store: s, Locker: lock.None{}, Numbers: sh.nums, Listener: &sh.heard, Meter: &sh.heard,
		ItemConcurrency: 1 << 20, PayWithin: 15 * time.Minute, LockWait: 500 * time.Millisecond, Timeout: 30 * time.Second,
	}
	if change != nil {
		change(&opt)
	}
	sh.Placer, sh.opened = order.NewPlacer(opt), opt.Store
	t.Cleanup(sh.Close)
	return sh
}

// numbers leases order numbers for as long as the test takes.
func numbers(t *testing.T, s *store.Store) *store.Numbers {
	t.Helper()
	n, err := store.NewNumbers(t.Context(), s, rand.Text(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { n.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return n
}

// buy is a purchase on the DB path whose ticket never expires.
func buy(item, user, bizID string, qty int64) order.Purchase {
	return order.Purchase{Item: item, Key: order.Key{User: user, BizID: bizID}, Qty: qty, Path: api.PathDB, Exp: math.MaxInt64}
}

// together places purchases at the same time and returns their answers in order.
func together(ctx context.Context, p *order.Placer, purchases []order.Purchase) (orders []api.Order, errs []error) {
	orders, errs = make([]api.Order, len(purchases)), make([]error, len(purchases))
	var wg sync.WaitGroup
	for i := range purchases {
		wg.Go(func() { orders[i], errs[i] = p.Place(ctx, purchases[i]) })
	}
	wg.Wait()
	return orders, errs
}

// clean fails the test if the books show any violation.
func clean(t *testing.T, s *store.Store) {
	t.Helper()
	report, err := reseed.Audit(t.Context(), s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Errorf("audit: %s %s: %s", f.Rule, f.Class, f.Detail)
	}
}

// left is how many units SQL says are left.
func left(t *testing.T, s *store.Store, item string) int64 {
	t.Helper()
	v, err := s.Sale(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	return v.Num
}

// users are n buyers who each want one unit of item 1.
func users(n int) []order.Purchase {
	ps := make([]order.Purchase, n)
	for i := range ps {
		ps[i] = buy("1", fmt.Sprint("u", i), "k", 1)
	}
	return ps
}

func create(t *testing.T, s *store.Store, item string, units, perUser int64) {
	t.Helper()
	v := storetest.Sale(item, units)
	v.PerUser = perUser
	now := sqlNow(t, s)
	v.StartsAt, v.EndsAt = now-60_000, now+3_600_000
	storetest.Create(t, s, v)
}

// sqlNow is the database's clock.
func sqlNow(t *testing.T, s *store.Store) int64 {
	t.Helper()
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return now
}
