package admit

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate/lua"
)

// world is an item as the filter has it, with its past, and a mark that learns
// of it through batches whose replies are late, lost and out of order.
type world struct {
	box   markBox
	now   time.Time
	past  []moment // the last one holds now
	sent  []sent
	probe *mark
	began time.Time // of the probe
	heard stamp     // the newest reply that was delivered
}

// moment is what held from a time on, until the next moment.
type moment struct {
	from    time.Time
	epoch   int64
	left    int64
	version int64
	buyers  map[string]struct{}
}

// sent is a batch of one on its way back.
type sent struct {
	epoch int64
	reply lua.Reply
	asked time.Time
}

func (w *world) holds() *moment { return &w.past[len(w.past)-1] }

// becomes adds a moment.
func (w *world) becomes(change func(*moment)) {
	next := *w.holds()
	next.from, next.buyers = w.now, maps.Clone(next.buyers)
	next.version++
	change(&next)
	w.past = append(w.past, next)
}

var buyers = rapid.SampledFrom([]string{"a", "b", "c"})

// ask sends a batch of one: its reply is what holds now.
func (w *world) ask(user string, qty int64) {
	known, h := w.box.version(w.holds().epoch), w.holds()
	r := lua.Reply{Verdicts: []lua.Verdict{lua.SoldOut}}
	_, bought := h.buyers[user]
	switch {
	case bought:
		r.Verdicts[0] = lua.Again
	case qty <= h.left:
		r.Verdicts[0] = lua.Admitted
		w.becomes(func(m *moment) {
			m.left -= qty
			m.buyers[user] = struct{}{}
		})
		h = w.holds()
	case known != h.version:
		r.Buyers = maps.Clone(h.buyers)
	}
	r.Left, r.Version = h.left, h.version
	w.sent = append(w.sent, sent{h.epoch, r, w.now})
}

// justified says that at some moment since a time the item was sold out for this
// request, and its user no buyer.
func (w *world) justified(since time.Time, user string, qty int64) bool {
	for i, m := range w.past {
		over := i+1 < len(w.past) && !w.past[i+1].from.After(since) // strictly before since
		_, bought := m.buyers[user]
		if !over && m.epoch == w.holds().epoch && m.left < qty && !bought {
			return true
		}
	}
	return false
}

// look takes both looks at the mark and judges them.
func (w *world) look(t *rapid.T, user string, qty int64) {
	epoch := w.holds().epoch
	if w.box.soldOut(epoch, []byte(user), qty, w.now) && !w.justified(w.now.Add(-markLife), user, qty) {
		t.Fatalf("%s was refused %d by a mark that has not been true for a second", user, qty)
	}
	refused, probe := w.box.closed(epoch, []byte(user), qty, w.now)
	if probe != nil {
		if probe == w.probe {
			t.Fatal("one mark has two probes")
		}
		w.probe, w.began = probe, w.now
		w.ask(user, qty)
	}
	waits := w.probe != nil && w.now.Sub(w.began) < probeTime
	if refused && !waits && !w.justified(w.now.Add(-markLife), user, qty) {
		t.Fatalf("%s was refused %d, no probe is under way, and it has not been true for a second", user, qty)
	}
}

func (w *world) deliver(t *rapid.T) {
	if len(w.sent) == 0 {
		t.Skip("nothing is on its way")
	}
	i := rapid.IntRange(0, len(w.sent)-1).Draw(t, "which")
	s := w.sent[i]
	w.sent = append(w.sent[:i:i], w.sent[i+1:]...)
	w.box.observe(s.epoch, &s.reply, s.asked)
	if at := (stamp{s.epoch, s.reply.Version}); w.heard.before(at) {
		w.heard = at
	}
	if m := w.box.current.Load(); m != nil && (stamp{m.epoch, m.version}) != w.heard {
		t.Fatalf("the mark is of %v, and the newest reply of %v", stamp{m.epoch, m.version}, w.heard)
	}
}

func TestMarkIsNeverWrongForLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: noon, past: []moment{{from: noon, epoch: 1, left: rapid.Int64Range(0, 3).Draw(t, "units"), version: 1, buyers: set()}}}
		qty := rapid.Int64Range(1, 3)
		t.Repeat(map[string]func(*rapid.T){
			"ask":     func(t *rapid.T) { w.ask(buyers.Draw(t, "user"), qty.Draw(t, "qty")) },
			"look":    func(t *rapid.T) { w.look(t, buyers.Draw(t, "user"), qty.Draw(t, "qty")) },
			"deliver": w.deliver,
			"lose": func(t *rapid.T) {
				if len(w.sent) == 0 {
					t.Skip("nothing is on its way")
				}
				w.sent = w.sent[1:]
			},
			"give back": func(t *rapid.T) {
				user := buyers.Draw(t, "user")
				if _, ok := w.holds().buyers[user]; !ok {
					t.Skip("no buyer")
				}
				w.becomes(func(m *moment) { m.left++; delete(m.buyers, user) })
			},
			"reseed": func(t *rapid.T) {
				w.becomes(func(m *moment) { m.epoch++; m.version = 1; m.left = rapid.Int64Range(0, 3).Draw(t, "units") })
			},
			"pass time": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 700).Draw(t, "ms")) * time.Millisecond)
			},
			"end the probe": func(t *rapid.T) {
				if w.probe == nil {
					t.Skip("no probe")
				}
				w.box.unconfirmed(w.probe)
				if w.box.current.Load() == w.probe {
					t.Fatal("a mark outlives its probe")
				}
				w.probe = nil
			},
			"": func(t *rapid.T) {
				if m := w.box.current.Load(); m != nil && m.fresh.After(w.now.Add(markLife)) {
					t.Fatal(fmt.Sprintf("a mark is believed for %v", m.fresh.Sub(w.now)))
				}
			},
		})
	})
}
