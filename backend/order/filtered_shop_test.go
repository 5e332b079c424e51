package order_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store/storetest"
	"rushgate/lua"
)

// filtered is a shop with a filter before it, on a clock that the test moves:
// what a gateway and a backend are together, without the wire.
type filtered struct {
	*shop
	t      *testing.T
	file   string
	clock  *storetest.Clock
	filter *lua.Memory
	life   *order.Life
	seeder *reseed.Seeder
	causes []reseed.Cause
}

const (
	payWithin   = 15 * time.Minute
	repairAfter = 4 * time.Second
)

// openFiltered opens a shop that sells item 1, one a user, and seeds its filter.
func openFiltered(t *testing.T, units int64) *filtered {
	t.Helper()
	f := &filtered{t: t, clock: storetest.NewClock()}
	f.file = filepath.Join(t.TempDir(), "rushgate.db")
	s := storetest.OpenFile(t, f.file, f.clock.Now)
	create(t, s, "1", units, 1)
	f.shop = open(t, s, func(o *order.Options) { o.PayWithin = payWithin })
	f.filter = lua.NewMemory(lua.MemoryOptions{Now: f.clock.Now})
	log := slog.New(slog.DiscardHandler)
	f.life = &order.Life{Store: s, Filter: f.filter, Log: log}
	f.seeder = reseed.New(reseed.Options{
		SQL: s, Filter: f.filter, PreheatLead: time.Minute, RepairAfter: repairAfter, Interval: time.Second, Log: log,
		Reseeded: func(_ string, cause reseed.Cause) { f.causes = append(f.causes, cause) }, Now: f.clock.Now,
	})
	f.sweep()
	return f
}

// wait moves the clock, and keeps the lease on the order numbers.
func (f *filtered) wait(d time.Duration) {
	f.t.Helper()
	f.clock.Add(d)
	if err := f.nums.Keep(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *filtered) sweep() {
	f.t.Helper()
	if err := f.seeder.Sweep(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// admit asks the filter as a gateway does.
func (f *filtered) admit(user, bizID string) (lua.Verdict, order.Purchase) {
	f.t.Helper()
	v, err := f.store.Sale(f.t.Context(), "1")
	if err != nil {
		f.t.Fatal(err)
	}
	reply, err := f.filter.Admit(f.t.Context(), lua.Batch{Item: "1", Epoch: v.Epoch, Requests: []lua.Request{{User: user, BizID: bizID, Qty: 1}}})
	if err != nil {
		f.t.Fatal(err)
	}
	p := buy("1", user, bizID, 1)
	p.Path, p.Epoch = api.PathRedis, v.Epoch
	return reply.Verdicts[0], p
}

// buy takes a purchase through the filter to its order.
func (f *filtered) buy(user, bizID string) api.Order {
	f.t.Helper()
	verdict, p := f.admit(user, bizID)
	if verdict != lua.Admitted && verdict != lua.Again {
		f.t.Fatalf("%s with key %s: the filter says %v", user, bizID, verdict)
	}
	o, err := f.Place(f.t.Context(), p)
	if err != nil {
		f.t.Fatalf("%s with key %s: %v", user, bizID, err)
	}
	return o
}

// agreed fails the test unless SQL and the filter both have so many units left,
// and every invariant holds, I6 included.
func (f *filtered) agreed(units int64) {
	f.t.Helper()
	v, err := f.filter.View(f.t.Context(), "1", false)
	if err != nil {
		f.t.Fatal(err)
	}
	if sql := left(f.t, f.store, "1"); sql != units || v.Stock != units {
		f.t.Errorf("SQL has %d left, the filter %d; want %d in both", sql, v.Stock, units)
	}
	r, err := reseed.Audit(f.t.Context(), f.store, f.filter, "1")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, x := range r.Findings {
		f.t.Errorf("audit: %s %s: %s", x.Rule, x.Class, x.Detail)
	}
}

// inState says that err tells where an order stands instead of changing it.
func inState(err error, state api.State) bool {
	r, ok := errors.AsType[*api.Refusal](err)
	return ok && r.Code == api.OrderState && r.State == state
}
