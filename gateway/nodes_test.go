package main

import (
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/store/storetest"
)

// oneRate is a limit that all gateways of a fleet share. Its burst bridges a second
// in which a busy machine sends nothing.
const oneRate, oneBurst = 200, 200

// fleetLimits let one item's sale last long enough for something to happen in the
// middle of it, and share the limit on everything.
var fleetLimits = fmt.Sprintf(`
limits:
  user: {qps: 1000000, burst: 1000000}
  items: {"1": {qps: 20, burst: 2}}
  global: {qps: %d, burst: %d, scope: cluster}
  refuse: {qps: 1000000, burst: 1000000}
breaker: {min_requests: 5, window: 2s, open_for: 1s, slow_call: 1s}
`, oneRate, oneBurst)

func TestBackendKilledInTheMiddleOfARush(t *testing.T) {
	f := openFleet(t, storetest.MariaDB(t), 2, 2, fleetLimits)
	const units = 100
	putOnSale(t, f.store, f.doors, saleOf("1", units))
	crowd := besiege("1", 48, f.doors...)
	door := f.doors[0]
	door.eventually("the first are sold", func() bool { return f.left("1") <= 80 })
	f.backends[0].end(syscall.SIGKILL)
	door.eventually("everything is sold", func() bool { return f.left("1") == 0 })
	honest(t, f.store, "1", units, crowd.end())
	door.agrees(f.store, f.filter)
	for i, g := range f.gateways {
		if counted(t, g.address("metrics"), "rushgate_tickets_total", `path="`+string(api.PathRedis)+`"`) == 0 {
			t.Errorf("gateway %d let nobody in through Redis", i)
		}
	}
}

func TestNodesKnowWhatOthersDid(t *testing.T) {
	f := openFleet(t, storetest.PostgreSQL(t), 2, 2, fleetLimits)
	here, there := f.doors[0], f.doors[1]
	putOnSale(t, f.store, f.doors, saleOf("2", 3))
	buy := func(d *door) answer { return d.buy(freshClicks("2", "buyer", 1)[0]) }
	everywhere := func(what string, holds func(*door) bool) {
		t.Helper()
		for _, d := range f.doors {
			d.eventually(what, func() bool { return holds(d) })
		}
	}
	everywhere("both sell", func(d *door) bool { return buy(d).status == http.StatusCreated })

	if err := f.store.SetPaused(t.Context(), "2", true); err != nil {
		t.Fatal(err)
	}
	everywhere("both say paused", func(d *door) bool { return buy(d).Code == "paused" })
	if err := f.store.SetPaused(t.Context(), "2", false); err != nil {
		t.Fatal(err)
	}
	there.eventually("the last unit is sold there", func() bool { return buy(there).status == http.StatusCreated })
	if n := f.left("2"); n != 0 {
		t.Fatalf("%d units left, want none", n)
	}
	marked := func(g *node) float64 {
		return counted(t, g.address("metrics"), "rushgate_refusals_total", `stage="sold_out"`)
	}
	for i, d := range f.doors {
		d.eventually("sold out is known without asking", func() bool {
			if a := buy(d); a.Code != "sold_out" {
				t.Fatalf("gateway %d: %s", i, a.String())
			}
			return marked(f.gateways[i]) > 0
		})
		d.eventually("and listed", func() bool { return d.get("/items/2", "").state() == "sold_out" })
	}
	// A unit that comes back is on offer on every node.
	var o api.Order
	for user := range heldOf(t, f, "2") {
		o = orderOf(t, f, user)
	}
	if a := here.post("/orders/"+o.OrderID+"/cancel", o.User); a.status != http.StatusOK {
		t.Fatalf("cancelling: %s", a.String())
	}
	there.eventually("a unit that came back here is sold there", func() bool { return buy(there).status == http.StatusCreated })
	here.agrees(f.store, f.filter)
}

func heldOf(t *testing.T, f *fleet, item string) map[string]int64 {
	t.Helper()
	books, err := f.store.Books(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	return books.Buyers
}

// orderOf finds the one order of a buyer of freshClicks, whose key is its name.
func orderOf(t *testing.T, f *fleet, user string) api.Order {
	t.Helper()
	o, err := f.store.Find(t.Context(), user, user)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestLimitOfAClusterHoldsOverTwoGateways(t *testing.T) {
	f := openFleet(t, storetest.MariaDB(t), 2, 1, fleetLimits)
	putOnSale(t, f.store, f.doors, saleOf("2", 1000))
	passed, took := f.undisturbed(func() (int, time.Duration) { return hammer(f.doors, 12, 5*time.Second) })
	flowed := oneRate * took.Seconds()
	t.Logf("%d of a possible %.0f passed", passed, flowed+oneBurst)
	if most := (flowed + oneBurst) * 1.02; float64(passed) > most {
		t.Errorf("%d passed, more than %.0f", passed, most)
	}
	if least := flowed * 0.98; float64(passed) < least {
		t.Errorf("%d passed, fewer than %.0f", passed, least)
	}
}

// undisturbed measures again where Redis was too slow for a lease meanwhile, on a
// busy machine: then each gateway counts for itself, as it should.
func (f *fleet) undisturbed(measure func() (int, time.Duration)) (passed int, took time.Duration) {
	f.t.Helper()
	disturbances := func() (n float64) {
		for _, g := range f.gateways {
			n += counted(f.t, g.address("metrics"), "rushgate_limit_leases_total", `result="error"`)
		}
		return n
	}
	for range 5 {
		before := disturbances()
		if passed, took = measure(); disturbances() == before {
			return passed, took
		}
	}
	f.t.Fatal("Redis never gave leases for long enough to measure anything")
	return 0, 0
}

// hammer sends purchases of one buyer of item 2 through all doors, faster than the
// limit, and counts those that no limit refused.
func hammer(doors []*door, clients int, d time.Duration) (passed int, took time.Duration) {
	var mu sync.Mutex
	var running sync.WaitGroup
	start := time.Now()
	for i := range clients {
		running.Go(func() {
			for n := 0; time.Since(start) < d; n++ {
				a := doors[(i+n)%len(doors)].buy(click{item: "2", user: "hammer", key: fmt.Sprintf("%d-%d", i, n)})
				if a.Code != "limited" {
					mu.Lock()
					passed++
					mu.Unlock()
					continue
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	running.Wait()
	return passed, time.Since(start)
}
