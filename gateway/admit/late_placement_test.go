package admit

import (
	"testing"
	"testing/synctest"
	"time"

	"rushgate/lua"
)

// A purchase whose time ran out while it waited for the filter is not placed: its
// buyer has been answered. Nothing was done, and that is what it hears.
func TestPlacedAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		x := open(t, s.filter(), func(o *Options) { o.Breaker.SlowCall, o.Timeout = time.Hour, time.Second })
		l := x.lane([]byte("1"))
		first := asks(t.Context(), l, 0, inFlight)
		s.sizes()
		if got := x.told(t, buys("u")); got != "failed" {
			t.Errorf("told %q, want failed", got)
		}
		if calls := x.orders.asked(); len(calls) != 0 {
			t.Errorf("the backend was asked to %v", calls)
		}
		for i := range inFlight {
			s.answer(i, func(lua.Request) lua.Verdict { return lua.NotStarted })
		}
		for range inFlight {
			<-first
		}
	})
}
