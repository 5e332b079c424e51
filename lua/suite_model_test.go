package lua

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// machine drives a filter and the model side by side. Its alphabet is tiny, so
// that users, keys and epochs meet again and again.
type machine struct {
	subject
	model    model
	items    []string
	versions map[string]int64 // last seen in a View, of the sales that are not stale
	changed  map[string]bool  // the buyers changed since
	behind   func()           // makes the last copy take over; nil for none yet
	copied   []modelSale
}

func testModel(t *testing.T, s subject) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := &machine{subject: s, model: model{keep: s.keep.Milliseconds()}, versions: map[string]int64{}, changed: map[string]bool{}}
		if s.advance == nil {
			m.model.keep = time.Hour.Milliseconds()
		}
		for _, name := range []string{"a", "b", "c"} { // of this run's own: rapid runs many on one filter
			m.items = append(m.items, fmt.Sprintf("%s-%d", name, run))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": m.check, "admit": m.admit, "admit more": m.admit, "restore": m.restore, "seed": m.seed,
			"wipe": m.lose, "copy": m.keepCopy, "failover": m.failover, "advance": m.wait,
		})
	})
}

func (m *machine) admit(t *rapid.T) {
	item := m.item(t)
	b := Batch{
		Item:     item,
		Epoch:    m.nearEpoch(t, item, -1, 3),
		Version:  rapid.SampledFrom([]int64{0, m.versions[item], m.versions[item] + 1}).Draw(t, "version"),
		Requests: rapid.SliceOfN(rapid.Custom(request), 0, 8).Draw(t, "requests"),
	}
	got, err := m.Admit(t.Context(), b)
	if err != nil {
		t.Fatalf("Admit(%+v): %v", b, err)
	}
	told := m.model.admit(b, got.Now)
	want := Reply{Verdicts: told, Now: got.Now, Version: got.Version}
	if s := m.model.live(item, got.Now); s != nil && s.Epoch == b.Epoch {
		want.Left = s.Stock
		if slices.Contains(told, SoldOut) && got.Version != b.Version {
			want.Buyers = map[string]struct{}{}
			for user := range s.units() {
				want.Buyers[user] = struct{}{}
			}
		}
	} else {
		want.Version = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Admit(%+v) (-model +filter):\n%s", b, diff)
	}
	m.changed[item] = m.changed[item] || slices.Contains(told, Admitted)
}

func (m *machine) restore(t *rapid.T) {
	item, r := m.item(t), rapid.Custom(request).Draw(t, "restore")
	got, err := m.Restore(t.Context(), item, r.User, r.BizID, int64(r.Qty))
	if err != nil {
		t.Fatal(err)
	}
	want := m.model.restore(item, r.User, r.BizID, int64(r.Qty), m.millis())
	if got != want {
		t.Fatalf("Restore(%q, %+v) = %t, the model says %t", item, r, got, want)
	}
	m.changed[item] = m.changed[item] || want
}

func (m *machine) seed(t *rapid.T) {
	item := m.item(t)
	starts := m.millis() + 1000*rapid.Int64Range(-6, 2).Draw(t, "starts in")
	s := Seed{
		Item:     item,
		Epoch:    max(1, m.nearEpoch(t, item, -2, 3)),
		StartsAt: starts,
		EndsAt:   starts + 1000*rapid.Int64Range(0, 20).Draw(t, "lasts"),
		PerUser:  rapid.Int64Range(1, 6).Draw(t, "per_user"),
		Paused:   rapid.IntRange(0, 9).Draw(t, "paused") == 0,
		Stock:    rapid.Int64Range(0, 12).Draw(t, "stock"),
		Buyers:   rapid.MapOfN(user(), rapid.Custom(seeded), 0, 3).Draw(t, "buyers"),
	}
	err := m.Seed(t.Context(), s)
	if err != nil && !errors.Is(err, ErrOlder) {
		t.Fatal(err)
	}
	if want := m.model.seed(s, m.millis()); (err == nil) != want {
		t.Fatalf("Seed(%+v) = %v, the model opened it: %t", s, err, want)
	}
	m.changed[item] = m.changed[item] || err == nil
}

func (m *machine) lose(t *rapid.T) {
	m.rarely(t)
	m.wipe()
	m.model.sales = nil
}

func (m *machine) keepCopy(*rapid.T) {
	m.behind, m.copied = m.copy(), m.model.copy()
}

func (m *machine) failover(t *rapid.T) {
	if m.behind == nil {
		t.Skip("no copy yet")
	}
	m.rarely(t)
	m.behind()
	m.model.failover(m.copied)
}

func (m *machine) wait(t *rapid.T) {
	if m.advance == nil {
		t.Skip("not our clock")
	}
	m.advance(time.Duration(rapid.Int64Range(1, 4).Draw(t, "seconds")) * time.Second)
}

// check compares everything that can be seen.
func (m *machine) check(t *rapid.T) {
	for _, item := range m.items {
		got, err := m.View(t.Context(), item, true)
		if err != nil {
			t.Fatal(err)
		}
		version := got.Version
		got.Version = 0
		if diff := cmp.Diff(m.model.view(item, m.millis()), got); diff != "" {
			t.Fatalf("View(%q) (-model +filter):\n%s", item, diff)
		}
		m.checkVersion(t, item, version)
	}
}

// checkVersion holds the version to: it rises if and only if the buyers changed,
// and never falls back, whatever was lost between.
func (m *machine) checkVersion(t *rapid.T, item string, version int64) {
	last := m.versions[item]
	switch {
	case version == 0: // stale: no version is told
		return
	case m.changed[item] && version <= last:
		t.Fatalf("version of %q is %d after %d, though the buyers changed", item, version, last)
	case !m.changed[item] && version != last:
		t.Fatalf("version of %q went from %d to %d, though the buyers are the same", item, last, version)
	}
	m.versions[item], m.changed[item] = version, false
}

func (m *machine) millis() int64 { return m.now().UnixMilli() }

func (m *machine) item(t *rapid.T) string { return rapid.SampledFrom(m.items).Draw(t, "item") }

// nearEpoch draws an epoch about the item's own, and that one most often.
func (m *machine) nearEpoch(t *rapid.T, item string, below, above int) int64 {
	var own int64
	if s := m.model.at(item, m.millis()); s != nil {
		own = s.Epoch
	}
	return max(0, own+int64(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 1, below, above}).Draw(t, "epoch off by")))
}

// rarely lets one in four through, so that losses don't drown everything else.
func (m *machine) rarely(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "now") != 0 {
		t.Skip("not now")
	}
}

// Generators are made anew for each use: shared ones race.
func user() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"ann", "bob", "cleo", "dora"})
}
func bizID() *rapid.Generator[string] { return rapid.SampledFrom([]string{"k1", "k2", "k3"}) }

func request(t *rapid.T) Request {
	return Request{User: user().Draw(t, "user"), BizID: bizID().Draw(t, "key"), Qty: rapid.IntRange(1, 4).Draw(t, "qty")}
}

func seeded(t *rapid.T) Note {
	return Note{
		Qty:    rapid.Int64Range(0, 5).Draw(t, "units"),
		BizIDs: slices.Collect(maps.Keys(rapid.MapOfN(bizID(), rapid.Just(true), 0, 2).Draw(t, "keys"))),
	}
}
