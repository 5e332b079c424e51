package lock

import (
	"context"
	"time"
)

const (
	// renewsPerTTL leaves time for two more tries after a renewal that failed.
	renewsPerTTL = 3
	// retriesPerTTL is how often a renewal that failed is tried again, so that one
	// lost packet doesn't cost the lock.
	retriesPerTTL = 10
)

// schedule is what a watchdog has to keep. The zero time is never.
type schedule struct {
	renewAt    time.Time
	capAt      time.Time // the end of all renewing
	validUntil time.Time // the end of the lock, unless it is renewed; never zero
}

// step is what a watchdog does next.
type step uint8

const (
	rest   step = iota // nothing is due
	renew              // ask Redis to keep the lock
	stop               // held for as long as is allowed
	expire             // the lock's time is over
)

// due says what has to be done now and, for rest, how long to wait. A watchdog that
// was stopped for long finds several things due: that the lock is over comes first.
func (s schedule) due(now time.Time) (step, time.Duration) {
	reached := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	switch {
	case reached(s.validUntil):
		return expire, 0
	case reached(s.capAt):
		return stop, 0
	case reached(s.renewAt):
		return renew, 0
	}
	next := s.validUntil
	for _, t := range []time.Time{s.capAt, s.renewAt} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return rest, next.Sub(now)
}

// watch keeps the lock until it is given back or lost.
func (h *hold) watch() {
	defer close(h.over)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for h.ctx.Err() == nil {
		select {
		case <-h.ctx.Done():
			return
		case <-timer.C:
		}
		what, wait := h.dueNow()
		switch what {
		case expire:
			h.lose(ErrExpired)
		case stop:
			h.lose(ErrMaxHold)
		case renew:
			h.renew()
		case rest:
		}
		timer.Reset(wait) // 0 after a renewal: what is due then is looked up anew
	}
}

func (h *hold) dueNow() (step, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.times.due(h.redis.opt.Now())
}

// renew asks Redis once to keep the lock for another TTL, and loses it if Redis says
// that it is another's or nobody's. No answer loses nothing while the time lasts.
func (h *hold) renew() {
	sent := h.redis.opt.Now()
	o, err := h.askToRenew(sent)
	if h.ctx.Err() != nil {
		return // given back or lost meanwhile, so the answer says nothing
	}
	if err == nil {
		err = o.err()
	}
	h.redis.opt.Metrics.renew(err)
	switch {
	case o.err() != nil:
		h.lose(err)
	case err != nil:
		h.plan(h.redis.opt.Now().Add(h.claim.ttl/retriesPerTTL), time.Time{})
	default:
		h.plan(sent.Add(h.claim.ttl/renewsPerTTL), sent.Add(h.claim.ttl))
	}
}

// askToRenew waits for an answer no longer than the lock is valid: by then it is lost.
func (h *hold) askToRenew(now time.Time) (outcome, error) {
	h.mu.Lock()
	left := h.times.validUntil.Sub(now)
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), min(left, h.redis.opt.Timeout))
	defer cancel()
	return h.claim.renew(ctx, h.redis.opt.Client)
}

// plan sets when to renew next and, unless zero, until when the lock is valid.
func (h *hold) plan(renewAt, validUntil time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times.renewAt = renewAt
	if !validUntil.IsZero() {
		h.times.validUntil = validUntil
	}
}
