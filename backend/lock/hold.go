package lock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// hold is a lock that is held, or was.
type hold struct {
	redis  *Redis
	claim  claim
	ctx    context.Context //nolint:containedctx // it ends with the hold, and is the base of what the holder gets
	cancel context.CancelCauseFunc
	since  time.Time
	leave  func()        // gives the turn to the next in this process, once
	over   chan struct{} // closed when the watchdog has ended

	unlocked atomic.Bool

	mu    sync.Mutex
	times schedule // guarded by mu
	ended bool     // lost or given back; guarded by mu
}

// hold starts to hold a lock that Redis gave in answer to a request sent then.
func (r *Redis) hold(ctx context.Context, l *line, c claim, t terms, sent time.Time) *hold {
	h := &hold{
		redis: r, claim: c, since: r.opt.Now(),
		leave: sync.OnceFunc(func() { r.lines.leave(c.key, l) }),
		over:  make(chan struct{}),
		times: schedule{validUntil: sent.Add(t.ttl)},
	}
	if t.renewed {
		h.times.renewAt = sent.Add(t.ttl / renewsPerTTL)
		h.times.capAt = h.since.Add(r.opt.MaxHold)
	}
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	go h.watch()
	return h
}

// end ends the hold, and reports whether it had not ended before.
func (h *hold) end(cause error) bool {
	h.mu.Lock()
	before := h.ended
	h.ended = true
	h.mu.Unlock()
	if before {
		return false
	}
	h.cancel(cause)
	h.redis.opt.Metrics.held(h.redis.opt.Now().Sub(h.since))
	return true
}

// lose ends a hold that was not given back. Others of this process may try now.
func (h *hold) lose(how error) {
	if h.end(fmt.Errorf("%w: %w", ErrLost, how)) {
		h.redis.opt.Metrics.lost(how)
		h.leave()
	}
}

// check loses a lock whose time is over by the clock, whether or not a timer has
// said so yet.
func (h *hold) check() {
	h.mu.Lock()
	late := !h.ended && !h.redis.opt.Now().Before(h.times.validUntil)
	h.mu.Unlock()
	if late {
		h.lose(ErrExpired)
	}
}

// unlock gives the lock back. Redis is asked even if the lock is lost by what is known
// here: it knows better, and may have to be told.
func (h *hold) unlock() error {
	if h.unlocked.Swap(true) {
		return fmt.Errorf("unlock %q: %w", h.claim.key, ErrUnlocked)
	}
	h.end(context.Canceled)
	// A renewal under way may reach Redis before the release or after it: before, the
	// key it renewed is deleted, and after, it finds no key and makes none.
	o, err := h.redis.release(h.ctx, h.claim)
	if err == nil {
		err = o.err()
	}
	h.redis.opt.Metrics.release(err)
	h.leave()
	<-h.over
	switch {
	case err == nil:
		return nil
	case o.err() != nil:
		return fmt.Errorf("unlock %q: %w: %w", h.claim.key, ErrLost, err)
	}
	return fmt.Errorf("unlock %q: %w: %w", h.claim.key, ErrUnavailable, err)
}

// held is the context that the holder gets. Whoever looks at it sees the hold as it is
// by the clock. [context.Cause] and derived contexts look by asking for a value.
type held struct {
	context.Context //nolint:containedctx // it is one
	hold            *hold
}

func (c held) Done() <-chan struct{} {
	c.hold.check()
	return c.Context.Done()
}

func (c held) Err() error {
	c.hold.check()
	return c.Context.Err()
}

func (c held) Value(key any) any {
	c.hold.check()
	return c.Context.Value(key)
}
