package admit

import (
	"context"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"rushgate/lua"
)

// BreakerOptions say when the filter is given up on, and for how long.
type BreakerOptions struct {
	Window       time.Duration // over which calls are counted
	MinRequests  int           // fewer calls in the window never open it
	FailureRatio float64
	SlowCall     time.Duration // the bound of one call; past it the call counts as failed
	OpenFor      time.Duration
}

// buckets is how finely the window rolls.
const buckets = 10

// guarded is a filter with a bound and a breaker round it. Every error of the
// filter counts; its verdicts are replies and never do.
type guarded struct {
	filter  lua.Filter
	bound   time.Duration
	breaker *gobreaker.CircuitBreaker[struct{}]
}

// guard puts the breaker round a filter. One probe at a time while half open, and
// SlowCall bounds the probe: one that never returned would hold its place for
// ever.
func guard(f lua.Filter, o BreakerOptions, m Meter) *guarded {
	breaker := gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         "filter",
		MaxRequests:  1,
		Interval:     o.Window,
		BucketPeriod: o.Window / buckets,
		Timeout:      o.OpenFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return int64(c.Requests) >= int64(o.MinRequests) && float64(c.TotalFailures) >= o.FailureRatio*float64(c.Requests)
		},
		// Runs under the breaker's mutex: it must not ask the breaker anything.
		OnStateChange: func(_ string, _, to gobreaker.State) { m.Breaker(to.String()) },
	})
	m.Breaker(gobreaker.StateClosed.String())
	return &guarded{filter: f, bound: o.SlowCall, breaker: breaker}
}

// admit runs one batch against the filter. Unless err is nil, the filter may or
// may not have taken any of it.
func (g *guarded) admit(ctx context.Context, b lua.Batch) (r lua.Reply, err error) {
	err = g.do(ctx, func(ctx context.Context) (err error) {
		if r, err = g.filter.Admit(ctx, b); err != nil {
			return err
		}
		return checkReply(&r, len(b.Requests))
	})
	return r, err
}

// view reads what the filter knows of an item, with its buyers.
func (g *guarded) view(ctx context.Context, item string) (v lua.View, err error) {
	err = g.do(ctx, func(ctx context.Context) (err error) {
		v, err = g.filter.View(ctx, item, true)
		return err
	})
	return v, err
}

// do makes one call. A panic in it is an error like any other: the batch's other
// requests still get their answer.
func (g *guarded) do(ctx context.Context, call func(context.Context) error) error {
	_, err := g.breaker.Execute(func() (_ struct{}, err error) {
		ctx, cancel := context.WithTimeout(ctx, g.bound)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the filter panicked: %v", p)
			}
		}()
		return struct{}{}, call(ctx)
	})
	return err
}

// checkReply refuses a reply that does not answer the batch.
func checkReply(r *lua.Reply, requests int) error {
	if len(r.Verdicts) != requests {
		return fmt.Errorf("the filter gave %d verdicts on %d requests", len(r.Verdicts), requests)
	}
	for _, v := range r.Verdicts {
		if v < lua.Stale || v > lua.Admitted {
			return fmt.Errorf("the filter gave a verdict %d, which this version does not know", uint8(v))
		}
	}
	return nil
}
