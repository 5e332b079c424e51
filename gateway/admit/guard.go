package admit

import (
	"context"
	"fmt"
	"time"

	"rushgate/lua"
)

// guarded is a filter with a bound and a breaker round it. Every error of the
// filter counts; its verdicts are replies and never do.
type guarded struct {
	filter  lua.Filter
	breaker *breaker
}

func guard(f lua.Filter, o BreakerOptions, m Meter, now func() time.Time) *guarded {
	return &guarded{filter: f, breaker: newBreaker(o, m.Breaker, now)}
}

// set changes the options from now on. Calls under way keep their bound.
func (g *guarded) set(o BreakerOptions) { g.breaker.set(o) }

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
// requests still get their answer. SlowCall bounds it: a probe that never returned
// would hold its place for ever.
func (g *guarded) do(ctx context.Context, call func(context.Context) error) error {
	return g.breaker.run(func(bound time.Duration) (err error) {
		ctx, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the filter panicked: %v", p)
			}
		}()
		return call(ctx)
	})
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
