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

// frozen is a filter that says nothing, for as long as it is let.
type frozen struct {
	lua.Filter
	views atomic.Int64
}

func (f *frozen) Admit(ctx context.Context, _ lua.Batch) (lua.Reply, error) {
	<-ctx.Done()
	return lua.Reply{}, ctx.Err()
}

func (f *frozen) View(ctx context.Context, _ string, _ bool) (lua.View, error) {
	f.views.Add(1)
	<-ctx.Done()
	return lua.View{}, ctx.Err()
}

// Where SQL says sold out while the filter is frozen, the look at its buyers costs
// the time of one call, counts as a failure, and is not made any more when the
// breaker is open.
func TestFrozenFilterHoldsUpSoldOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &frozen{}
		x := open(t, f, func(o *Options) { o.Breaker.MinRequests = 4 })
		none := int64(0)
		x.orders.place = fails(&api.Refusal{Code: api.SoldOut, Left: &none})
		ask := func(user string) time.Duration {
			began := time.Now()
			if got := x.told(t, buys(user)); got != "refused sold_out" {
				t.Fatal(got)
			}
			return time.Since(began)
		}
		bound := usual.SlowCall
		for _, user := range []string{"a", "b"} { // four calls: the breaker opens
			if took := ask(user); took != 2*bound {
				t.Errorf("%s waited %v, want the time of two calls, %v", user, took, 2*bound)
			}
			time.Sleep(markLife)
		}
		if took := ask("c"); took != 0 || f.views.Load() != 2 {
			t.Errorf("with the breaker open c waited %v, and the filter was looked at %d times", took, f.views.Load())
		}
		if !x.MarkedSoldOut("1") {
			t.Error("no mark was set")
		}
		if diff := cmp.Diff([]string{"closed", "open"}, x.meter.states); diff != "" {
			t.Error(diff)
		}
	})
}
