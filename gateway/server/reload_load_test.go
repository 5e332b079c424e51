package server

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/config"
)

// stepped is a clock that its test moves.
type stepped struct{ ns atomic.Int64 }

func newStepped(at time.Time) *stepped {
	c := &stepped{}
	c.ns.Store(at.UnixNano())
	return c
}

func (c *stepped) now() time.Time       { return time.Unix(0, c.ns.Load()) }
func (c *stepped) step(d time.Duration) { c.ns.Add(int64(d)) }
func (c *stepped) option(o *Options)    { o.Now = c.now }

// While limits and an upstream are changed two hundred times nobody is told
// anything but yes or "limited", and no more pass than the burst of the start and
// what flows in at the rates of each stretch of time.
func TestReloadsDropRequestsOrHandOutTokens(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer shop.Close()
	rates := []config.Rate{{QPS: 20, Burst: 2}, {QPS: 200, Burst: 20}, {QPS: 5, Burst: 1}, {}}
	for name, tt := range map[string]struct {
		ask   request
		limit func(*config.Config, config.Rate)
	}{
		"global": {get("/shop/"), func(c *config.Config, r config.Rate) { c.Limits.Global.QPS, c.Limits.Global.Burst = r.QPS, r.Burst }},
		"item":   {purchase("u"), func(c *config.Config, r config.Rate) { c.Limits.Items = map[string]config.Rate{"1001": r} }},
	} {
		t.Run(name, func(t *testing.T) {
			number := func(i int) func(*config.Config) {
				return func(c *config.Config) {
					generous(c)
					c.Breaker.DBPath = config.DBPath{QPS: 1e6, Concurrency: 1000}
					to(strings.TrimPrefix(shop.URL, "http://"), patience+time.Duration(i))(c)
					tt.limit(c, rates[i%len(rates)])
				}
			}
			clock := newStepped(time.Now())
			g := build(t, number(0), clock.option, func(o *Options) { o.Filter = nil })
			g.run(t)
			crowd := g.crowd(t, 4, tt.ask)
			most := float64(rates[0].Burst)
			const step = 10 * time.Millisecond
			for i := range 200 {
				clock.step(step)
				most += rates[i%len(rates)].QPS * step.Seconds()
				crowd.await(8)
				g.reload(number(i + 1))
			}
			if got := float64(crowd.leave()); got > math.Ceil(most) || got < most/4 {
				t.Errorf("%v passed, want about %v and no more", got, most)
			}
		})
	}
}

// crowd sends the same request again and again, each of it over a connection of
// its own.
type crowd struct {
	answers chan struct{} // bounded: it is not far ahead of who waits for it
	stop    chan struct{}
	all     sync.WaitGroup
	passed  atomic.Int64
}

func (g *gateway) crowd(t *testing.T, size int, ask request) *crowd {
	t.Helper()
	w := &crowd{answers: make(chan struct{}, size), stop: make(chan struct{})}
	for range size {
		c := g.dial("")
		w.all.Go(func() {
			defer c.Close()
			for w.goesOn() {
				switch a := c.ask(ask.method, ask.text()); {
				case a.status < 300:
					w.passed.Add(1)
				case a.member.Code != "limited":
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
	return w
}

func (w *crowd) goesOn() bool {
	select {
	case w.answers <- struct{}{}:
		return true
	case <-w.stop:
		return false
	}
}

// await waits for n more turns.
func (w *crowd) await(n int) {
	for range n {
		<-w.answers
	}
}

// leave ends it, and returns how many passed.
func (w *crowd) leave() int64 {
	close(w.stop)
	w.all.Wait()
	return w.passed.Load()
}
