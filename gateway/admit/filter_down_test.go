package admit

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/lua"
)

// patchy is a filter that fails, hangs or answers, and counts.
type patchy struct {
	calls atomic.Int64
	mode  atomic.Int64
}

const (
	answers = iota
	refuses
	hangs
)

func (p *patchy) filter() *filter {
	return &filter{admit: func(ctx context.Context, b lua.Batch) (lua.Reply, error) {
		p.calls.Add(1)
		switch p.mode.Load() {
		case refuses:
			return lua.Reply{}, errGone
		case hangs:
			<-ctx.Done()
			return lua.Reply{}, ctx.Err()
		}
		return says(lua.Admitted, b), nil
	}}
}

// buyMany makes n purchases one after the other, which must all be sold.
func (x *fixture) buyMany(t *testing.T, n int) {
	t.Helper()
	for range n {
		if got := x.told(t, buys("u")); got != "order 9" {
			t.Fatalf("told %q", got)
		}
	}
}

// A filter that is gone, or that answers too late, is left alone, asked once in
// a while by one request, and used again when it answers. Whatever it does,
// everybody buys.
func TestFilterDownAndBack(t *testing.T) {
	for name, mode := range map[string]int64{"gone": refuses, "frozen": hangs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &patchy{}
				x := open(t, p.filter(), nil)
				p.mode.Store(mode)
				x.buyMany(t, 100)
				if n := p.calls.Load(); n != 20 {
					t.Fatalf("asked %d times before it was given up, want min_requests, 20", n)
				}
				for range 180 { // a quarter of an hour
					time.Sleep(5*time.Second + time.Millisecond)
					before := p.calls.Load()
					x.buyMany(t, 10)
					if n := p.calls.Load() - before; n != 1 {
						t.Fatalf("%d probes after it was left alone for open_for, want 1", n)
					}
				}
				p.mode.Store(answers)
				time.Sleep(5*time.Second + time.Millisecond)
				before := x.meter.of("path redis")
				x.buyMany(t, 10)
				if n := x.meter.of("path redis") - before; n != 10 {
					t.Errorf("back again, and %d of 10 go through it", n)
				}
				want := []string{"closed", "open"}
				for range 180 {
					want = append(want, "half-open", "open")
				}
				if diff := cmp.Diff(append(want, "half-open", "closed"), x.meter.states); diff != "" {
					t.Errorf("states (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// While the one probe is under way the others don't wait for it.
func TestProbesFloodTheFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &patchy{}
		x := open(t, p.filter(), nil)
		p.mode.Store(refuses)
		x.buyMany(t, 20)
		p.mode.Store(hangs)
		time.Sleep(5*time.Second + time.Millisecond)
		probe := x.start(t, buys("probe"))
		synctest.Wait()
		before := p.calls.Load()
		x.buyMany(t, 50)
		if n := p.calls.Load() - before; n != 0 {
			t.Errorf("%d more calls during the probe", n)
		}
		if got := <-probe; got != "order 9" {
			t.Errorf("the probe was told %q", got)
		}
	})
}

// Verdicts are answers: no number of them opens the breaker. Nor do buyers who
// go away.
func TestRefusalsTripTheBreaker(t *testing.T) {
	for v := lua.Stale; v <= lua.Admitted; v++ {
		t.Run(v.String(), func(t *testing.T) {
			x := open(t, always(v), nil)
			for i := range 1000 {
				x.told(t, again(buys(fmt.Sprint("u", i))))
			}
			if diff := cmp.Diff([]string{"closed"}, x.meter.states); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("callers go away", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{}
			x := open(t, s.filter(), nil)
			l := x.lane([]byte("1"))
			for i := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				wrong := asks(ctx, l, i, 1)
				synctest.Wait()
				cancel()
				s.answer(i, byNumber)
				<-wrong
			}
			if diff := cmp.Diff([]string{"closed"}, x.meter.states); diff != "" {
				t.Error(diff)
			}
		})
	})
}
