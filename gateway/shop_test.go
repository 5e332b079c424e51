package main

import (
	"log/slog"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/config"
	"rushgate/lua"
)

// shop is a running gateway with its backend inside, on the zero-setup defaults
// with data of its own, and a client of it.
type shop struct {
	*app
	*door
	config *config.Config
}

// shopOptions change what a shop starts with.
type shopOptions struct {
	flags map[string]string // over the defaults, by configuration path
	wrap  func(lua.Filter) lua.Filter
	demo  bool
	now   func() time.Time // the node's clock
}

// generous lifts the user limit, which a test with few users would meet first.
var generous = map[string]string{"limits.user.qps": "1000000", "limits.user.burst": "1000000"}

// wideOpen lifts every limit.
var wideOpen = map[string]string{
	"limits.user.qps": "1000000", "limits.user.burst": "1000000",
	"limits.item.qps": "1000000", "limits.item.burst": "1000000",
	"limits.global.qps": "1000000", "limits.global.burst": "1000000",
	"limits.refuse.qps": "1000000", "limits.refuse.burst": "1000000",
	"breaker.db_path.qps": "1000000", "breaker.db_path.concurrency": "1000",
}

func openShop(t testing.TB, o shopOptions) *shop {
	t.Helper()
	flags := map[string]string{"listen": "127.0.0.1:0", "admin.listen": "127.0.0.1:0", "data": t.TempDir()}
	maps.Copy(flags, o.flags)
	l, err := config.Load(config.Options{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	a, err := start(t.Context(), l, startOptions{log: slog.New(slog.DiscardHandler), demo: o.demo, wrap: o.wrap, now: o.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return &shop{app: a, door: doorOf(t, a.public.Addr().String()), config: &l.Config}
}

func (s *shop) database() string { return filepath.Join(s.config.Data, "rushgate.db") }

// saleOf is an open sale, one a user, from a minute ago for an hour.
func saleOf(item string, units int64) order.Sale {
	now := time.Now()
	return order.Sale{
		Item: item, Title: "Item " + item, PriceCents: 100, Num: units, PerUser: 1, Mode: "sync",
		StartsAt: now.Add(-time.Minute).UnixMilli(), EndsAt: now.Add(time.Hour).UnixMilli(),
	}
}

// sell puts sales on offer and waits until the gateway knows them and, where
// that is due, the filter has been seeded.
func (s *shop) sell(sales ...order.Sale) {
	s.t.Helper()
	for _, v := range sales {
		if err := s.backend.Store.Create(s.t.Context(), v); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.backend.Seeder.Sweep(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	for _, v := range sales {
		s.eventually("the gateway knows "+v.Item, func() bool { return s.get("/items/"+v.Item, "").status == 200 })
	}
}

// left is how many units SQL says are left.
func (s *shop) left(item string) int64 {
	s.t.Helper()
	v, err := s.backend.Store.Sale(s.t.Context(), item)
	if err != nil {
		s.t.Fatal(err)
	}
	return v.Num
}

// audit returns the findings on all invariants that SQL shows and, with the
// filter, on I6.
func (s *shop) audit(filter lua.Filter) []reseed.Finding {
	s.t.Helper()
	r, err := reseed.Audit(s.t.Context(), s.backend.Store, filter, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Findings
}

// settled fails the test unless the books are clean now and the filter agrees
// with them once the sale is quiet.
func (s *shop) settled() {
	s.t.Helper()
	for _, f := range s.audit(nil) {
		s.t.Errorf("audit: %s %s of %s: %s", f.Rule, f.Class, f.Item, f.Detail)
	}
	s.eventually("the filter agrees with SQL", func() bool { return len(s.audit(s.filter)) == 0 })
}

// activeOrders is what SQL says is held of an item, in all and by user.
func (s *shop) activeOrders(item string) (units int64, perUser map[string]int64) {
	s.t.Helper()
	b, err := s.backend.Store.Books(s.t.Context(), item)
	if err != nil {
		s.t.Fatal(err)
	}
	return b.ActiveUnits, b.Buyers
}
