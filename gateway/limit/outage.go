package limit

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// probeEvery is how often a ledger that failed is asked whether it is back.
const probeEvery = 250 * time.Millisecond

// spell is a stretch of time in which the ledger answers, or in which it doesn't.
// A call belongs to the spell in which it began: what it finds when another has
// begun meanwhile changes nothing.
type spell struct {
	away  bool
	ended bool      // away for good: the cluster was closed
	since time.Time // by the callers' clock, not by a bucket's line
}

// outage knows which spell it is. Reading takes no lock.
type outage struct {
	log   *slog.Logger
	meter Meter

	current atomic.Pointer[spell]
	probing atomic.Bool
	due     atomic.Int64 // the next probe, ns after the spell's beginning

	change sync.Mutex
}

func (o *outage) init(log *slog.Logger, m Meter) {
	o.log, o.meter = log, m
	o.current.Store(&spell{})
}

func (o *outage) spell() *spell { return o.current.Load() }

// lost ends a spell of answers with an error of a call that belongs to it, or puts
// the next probe off.
func (o *outage) lost(s *spell, now time.Time, err error) {
	o.change.Lock()
	defer o.change.Unlock()
	switch {
	case o.spell() != s:
	case s.away:
		o.due.Store(int64(now.Sub(s.since) + probeEvery))
	default:
		o.due.Store(int64(probeEvery))
		o.current.Store(&spell{away: true, since: now})
		o.meter.Alone(true)
		o.log.Warn("limits of the cluster: their ledger fails, each gateway counts for itself until it answers again", "error", err)
	}
}

// found ends a spell without answers by an answer to a call that belongs to it. It
// returns the spell that it is now.
func (o *outage) found(s *spell, now time.Time) *spell {
	o.change.Lock()
	defer o.change.Unlock()
	if o.spell() != s || !s.away || s.ended {
		return o.spell()
	}
	next := &spell{since: now}
	o.current.Store(next)
	o.meter.Alone(false)
	o.log.Info("limits of the cluster: their ledger answers again, the gateways count together", "away", now.Sub(s.since))
	return next
}

// end makes the ledger be away for good.
func (o *outage) end(now time.Time) {
	o.change.Lock()
	defer o.change.Unlock()
	o.current.Store(&spell{away: true, ended: true, since: now})
}

// claim reports whether the caller is to ask if the ledger is back: one at a time,
// and not before the next probe is due. Who claimed it calls release at the end.
func (o *outage) claim(s *spell, now time.Time) bool {
	if s.ended || !o.isDue(s, now) || !o.probing.CompareAndSwap(false, true) {
		return false
	}
	if !o.isDue(s, now) { // a probe ended between the two
		o.release()
		return false
	}
	return true
}

func (o *outage) release() { o.probing.Store(false) }

// isDue also where the clock was set back: a probe then comes early, which is
// better than an hour late.
func (o *outage) isDue(s *spell, now time.Time) bool {
	elapsed, due := now.Sub(s.since), time.Duration(o.due.Load())
	return elapsed >= due || elapsed < due-2*probeEvery
}
