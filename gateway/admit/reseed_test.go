package admit

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/lua"
)

// at is a filter that is at an epoch, and admits whoever knows it.
func at(epoch *atomic.Int64) *filter {
	return &filter{admit: func(_ context.Context, b lua.Batch) (lua.Reply, error) {
		if b.Epoch != epoch.Load() {
			return says(lua.Stale, b), nil
		}
		return says(lua.Admitted, b), nil
	}}
}

func (x *fixture) wantCalls(t *testing.T, calls ...string) {
	t.Helper()
	if diff := cmp.Diff(calls, x.orders.asked()); diff != "" {
		t.Errorf("asked of the backend (-want +got)\n%s", diff)
	}
}

// A reseed that is over costs one more question, whatever the patience.
func TestEpochMoved(t *testing.T) {
	for name, wait := range map[string]time.Duration{"patient": time.Second, "impatient": 0} {
		t.Run(name, func(t *testing.T) {
			var epoch atomic.Int64
			epoch.Store(6)
			x := open(t, at(&epoch), func(o *Options) { o.ReseedWait = wait })
			x.source.sell(6, 0)
			if got := x.told(t, buys("u")); got != "order 9" {
				t.Errorf("told %q", got)
			}
			x.wantCalls(t, "place redis 6")
		})
	}
}

// SQL says that the ticket's epoch is over, and which one holds. Nothing was done,
// so the same key is admitted again.
func TestStaleTicket(t *testing.T) {
	var epoch atomic.Int64
	epoch.Store(5)
	x := open(t, at(&epoch), nil)
	x.orders.place = func(_ context.Context, k api.Ticket) (api.Order, error) {
		if k.Epoch != 6 {
			epoch.Store(6)
			return api.Order{}, &api.Stale{Epoch: 6}
		}
		return made(k), nil
	}
	if got := x.told(t, buys("u")); got != "order 9" {
		t.Errorf("told %q", got)
	}
	x.wantCalls(t, "place redis 5", "place redis 6")
}

// While a reseed runs a purchase waits for it: on the DB path it would demand the
// next one.
func TestReseedSendsPurchasesDownTheDBPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var epoch atomic.Int64
		epoch.Store(5)
		x := open(t, at(&epoch), nil)
		epoch.Store(0) // gone
		x.source.sell(6, time.Now().Add(5*time.Second).UnixMilli())
		told := x.start(t, buys("u"))
		time.Sleep(300 * time.Millisecond)
		x.wantCalls(t)
		epoch.Store(6)
		if got := <-told; got != "order 9" {
			t.Errorf("told %q", got)
		}
		x.wantCalls(t, "place redis 6")
	})
}

// Patience ends, and so does a lease that nobody renews.
func TestReseedIsWaitedForForEver(t *testing.T) {
	for name, tt := range map[string]struct{ lease, waits time.Duration }{
		"patience ends": {time.Hour, 500 * time.Millisecond},
		"lease ends":    {100 * time.Millisecond, 100 * time.Millisecond},
		"no reseed":     {-time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var epoch atomic.Int64
				x := open(t, at(&epoch), nil)
				x.source.sell(5, time.Now().Add(tt.lease).UnixMilli())
				began := time.Now()
				if got := x.told(t, buys("u")); got != "order 9" {
					t.Errorf("told %q", got)
				}
				x.wantCalls(t, "place db 5")
				// The clock is the test's own: waiting takes no time but sleep.
				if waited := time.Since(began); waited < tt.waits || waited > tt.waits+reseedPoll(10) {
					t.Errorf("it waited %v, want %v and at most one look more", waited, tt.waits)
				}
			})
		})
	}
}

// Epochs that come and go faster than anybody can be admitted end on the DB path
// too.
func TestEpochsRunAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var epoch atomic.Int64
		x := open(t, at(&epoch), nil)
		next := int64(6)
		x.source.hook = func(int) {
			time.Sleep(10 * time.Millisecond)
			x.source.sell(next, 0)
			next++
		}
		if got := x.told(t, buys("u")); got != "order 9" {
			t.Errorf("told %q", got)
		}
		if calls := x.orders.asked(); len(calls) != 1 || calls[0][:8] != "place db" {
			t.Errorf("asked to %v", calls)
		}
	})
}

// A backend that can't say whether the reseed still runs is not waited for.
func TestCatalogueGoneDuringAReseed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var epoch atomic.Int64
		x := open(t, at(&epoch), nil)
		x.source.sell(5, time.Now().Add(time.Hour).UnixMilli())
		if err := x.opt.Catalogue.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.source.mu.Lock()
		x.source.err = api.ErrFailed
		x.source.mu.Unlock()
		began := time.Now()
		if got := x.told(t, buys("u")); got != "order 9" {
			t.Errorf("told %q", got)
		}
		x.wantCalls(t, "place db 5")
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waited %v for a catalogue that does not come", waited)
		}
	})
}

// A service that never counts epochs has all its sales at 0.
func TestStaleEpochZeroIsToldAsAnOrder(t *testing.T) {
	var epoch atomic.Int64
	epoch.Store(1)
	x := open(t, at(&epoch), nil)
	x.source.sell(0, 0)
	x.lane([]byte("1")).epoch.Store(0)
	if got := x.told(t, buys("u")); got != "order 9" {
		t.Errorf("told %q", got)
	}
	x.wantCalls(t, "place db 0")
}

// Items come and go with the catalogue; one that stays keeps what is known of it.
func TestCatalogueChanges(t *testing.T) {
	x := open(t, always(lua.SoldOut), nil)
	x.told(t, buys("u"))
	l := x.lane([]byte("1"))
	x.source.sell(5, 1)
	if err := x.opt.Catalogue.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x.lane([]byte("1")) != l || !x.MarkedSoldOut("1") {
		t.Error("the mark went with a change of the catalogue")
	}
	x.source.sell(4, 0) // an answer from before
	if err := x.opt.Catalogue.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.epoch.Load(); got != 5 {
		t.Errorf("epoch %d, went back from 5", got)
	}
	x.source.mu.Lock()
	x.source.tag, x.source.sales = 99, nil
	x.source.mu.Unlock()
	if err := x.opt.Catalogue.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := x.told(t, buys("v")); got != "no such item" || x.MarkedSoldOut("1") {
		t.Errorf("off the catalogue: told %q", got)
	}
}
