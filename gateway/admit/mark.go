package admit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"rushgate/lua"
)

// markLife is how long a sold-out mark is believed without asking again: units
// that come back are on offer after at most this long.
const markLife = time.Second

// probeTime is how long the others wait for the one request that probes an old
// mark. If it has not confirmed the mark by then, the mark is dead.
const probeTime = 200 * time.Millisecond

// mark says that an item had only left units at a moment, and who has some. But
// for its probe it never changes; a newer one replaces it.
type mark struct {
	epoch   int64
	left    int64
	version int64               // of buyers
	buyers  map[string]struct{} // may be asking again for what they have: they go on
	fresh   time.Time           // believed until then

	probed atomic.Int64 // when its one probe began, Unix nanoseconds; 0 before
}

// refuses says that the mark, fresh or not, leaves nothing for this request.
func (m *mark) refuses(epoch int64, user []byte, qty int64) bool {
	if m == nil || m.epoch != epoch || qty <= m.left {
		return false
	}
	_, bought := m.buyers[string(user)]
	return !bought
}

// markBox holds an item's mark. Reading costs one atomic load, which is what a
// sold-out request costs before anything else.
type markBox struct {
	current atomic.Pointer[mark]

	mu   sync.Mutex // orders the changes
	seen stamp      // the newest that the filter has said
}

// stamp orders what the filter says: within an epoch every change of units or
// buyers raises the version.
type stamp struct{ epoch, version int64 }

func (s stamp) before(o stamp) bool {
	return s.epoch < o.epoch || s.epoch == o.epoch && s.version < o.version
}

// soldOut is the cheap look: it refuses by a fresh mark only and probes nothing,
// so that requests which later stages refuse never use up the probe.
func (b *markBox) soldOut(epoch int64, user []byte, qty int64, now time.Time) bool {
	m := b.current.Load()
	return m.refuses(epoch, user, qty) && now.Before(m.fresh)
}

// closed is the look just before admission. When the mark has grown old, one
// request goes on to find out, and the others are refused until it has, or for
// probeTime. The one gets the mark that it probes, and says [markBox.unconfirmed]
// in the end.
func (b *markBox) closed(epoch int64, user []byte, qty int64, now time.Time) (refused bool, probe *mark) {
	m := b.current.Load()
	if !m.refuses(epoch, user, qty) {
		return false, nil
	}
	if now.Before(m.fresh) {
		return true, nil
	}
	if m.probed.CompareAndSwap(0, now.UnixNano()) {
		return false, m
	}
	return now.UnixNano()-m.probed.Load() < int64(probeTime), nil
}

// unconfirmed ends a probe. A mark that nothing has renewed by then is dropped:
// believing it any longer would tell "sold out" without knowing.
func (b *markBox) unconfirmed(probe *mark) { b.current.CompareAndSwap(probe, nil) }

// observe takes what a batch showed that was sent at the time asked. A sold_out
// sets the mark; a batch without one renews a mark whose buyers are still the
// same, and with them the units, and drops any other. With several batches in
// flight their replies overtake each other: one that is older than what was seen
// before shows nothing any more.
func (b *markBox) observe(epoch int64, r *lua.Reply, asked time.Time) {
	soldOut, stale := seen(r.Verdicts)
	if stale {
		return // it shows nothing, and the next epoch voids the mark
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := stamp{epoch, r.Version}
	if at.before(b.seen) {
		return
	}
	b.seen = at
	old := b.current.Load()
	known := old != nil && old.epoch == epoch && old.version == r.Version
	switch {
	case soldOut && r.Buyers != nil:
		b.set(&mark{epoch: epoch, left: r.Left, version: r.Version, buyers: r.Buyers}, asked)
	case known:
		b.set(&mark{epoch: epoch, left: r.Left, version: r.Version, buyers: old.buyers}, asked)
	default:
		// Somebody got units. Or: sold out, and of buyers that have gone with a
		// mark dropped meanwhile: without them a mark would refuse them.
		b.current.Store(nil)
	}
}

// seen says whether a batch had a sold_out, and whether it was stale, which is
// all of it or none.
func seen(verdicts []lua.Verdict) (soldOut, stale bool) {
	for _, v := range verdicts {
		soldOut = soldOut || v == lua.SoldOut
		stale = stale || v == lua.Stale
	}
	return soldOut, stale
}

// bySQL sets the mark that SQL's sold_out calls for. view is what the filter knows of
// the buyers, nil where it could not be asked; then the set is empty.
func (b *markBox) bySQL(epoch, left int64, view *lua.View, now time.Time) {
	m := &mark{epoch: epoch, left: left}
	if view != nil {
		m.version, m.buyers = view.Version, make(map[string]struct{}, len(view.Buyers))
		for user := range view.Buyers {
			m.buyers[user] = struct{}{}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch at := (stamp{epoch, m.version}); {
	case epoch < b.seen.epoch:
		return // void already
	case b.seen.before(at):
		b.seen = at
	}
	b.set(m, now)
}

// soldOutBySQL sets the mark after SQL has said how many units are left. The buyers
// are those that the filter knows, where it can be asked. One request asks for
// all: when an item sells out many hear it at once, and the set may be large.
func (l *lane) soldOutBySQL(ctx context.Context, epoch, left int64) {
	if l.mark.knows(epoch, left, l.now()) || !l.marking.CompareAndSwap(false, true) {
		return
	}
	defer l.marking.Store(false)
	var known *lua.View
	if l.filter != nil {
		// Not cut short by the end of this purchase, which the breaker would
		// take for a failure of the filter.
		if v, err := l.filter.view(context.WithoutCancel(ctx), l.item); err == nil && !v.Stale && v.Epoch == epoch {
			known = &v
		}
	}
	l.mark.bySQL(epoch, left, known, l.now())
}

// knows says that a fresh mark says as much already as SQL's sold_out would.
func (b *markBox) knows(epoch, left int64, now time.Time) bool {
	m := b.current.Load()
	return m != nil && m.epoch == epoch && m.left <= left && now.Before(m.fresh)
}

// set makes m the mark, known to hold at the time at. The caller holds mu.
func (b *markBox) set(m *mark, at time.Time) {
	m.fresh = at.Add(markLife)
	if old := b.current.Load(); old != nil && old.epoch == m.epoch && old.version == m.version && old.left == m.left && old.fresh.After(m.fresh) {
		m.fresh = old.fresh // two batches saw the same, and the later one answered first
	}
	b.current.Store(m)
}

// drop forgets the mark: somebody got units.
func (b *markBox) drop() { b.current.Store(nil) }

// version is that of the buyers known in this epoch, 0 for none. Versions of
// different epochs do not compare.
func (b *markBox) version(epoch int64) int64 {
	if m := b.current.Load(); m != nil && m.epoch == epoch {
		return m.version
	}
	return 0
}
