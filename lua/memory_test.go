package lua

import (
	"maps"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// clock is a clock that a test moves; safe for concurrent use.
type clock struct{ millis atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.millis.Store(time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.millis.Load()) }
func (c *clock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }

// startMemory makes a Memory that forgets a sale ten seconds after its end.
func startMemory(testing.TB) subject {
	const keep = 10 * time.Second
	c := newClock()
	m := NewMemory(MemoryOptions{Now: c.now, Keep: keep})
	return subject{
		Filter: m, now: c.now, advance: c.advance, keep: keep, wipe: m.Wipe,
		copy: func() func() {
			s := m.Snapshot()
			return func() { m.Load(s) }
		},
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	suite(t, startMemory)
}

func TestSaleIsForgottenOnlyAfterKeep(t *testing.T) {
	s := startMemory(t)
	s.open(t, "1001", 10, window(s.now(), s.now().Add(time.Minute)), epoch(5))
	ask := func(want Verdict) {
		t.Helper()
		verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 5, Requests: []Request{ask("ann", s.now().String())}}), want)
	}
	ask(Admitted)
	s.advance(time.Minute)
	ask(Ended)
	s.advance(s.keep - time.Millisecond)
	ask(Ended)
	if v := s.view(t, "1001"); v.Stock != 9 || v.Stale {
		t.Errorf("View = %+v before the time is over, want 9 units left", v)
	}
	s.advance(time.Millisecond)
	ask(Stale)
	if v := s.view(t, "1001"); v.Epoch != 0 || !v.Stale {
		t.Errorf("View = %+v of a forgotten sale, want nothing", v)
	}
}

func TestForgottenSaleBlocksTheNextOne(t *testing.T) {
	s := startMemory(t)
	for i := range 100 * sweepAtOnce { // so that the sweep hardly ever finds it first
		s.open(t, "neighbour-"+strconv.Itoa(i), 1)
	}
	s.open(t, "1001", 10, window(s.now(), s.now().Add(time.Minute)), epoch(5))
	s.advance(time.Minute + s.keep)
	s.open(t, "1001", 3, epoch(1))
	s.holds(t, "1001", 3, map[string]int64{})
}

// A call meets a sale that is over while a seeder opens the next one.
func TestForgettingTakesTheNextSaleToo(t *testing.T) {
	srv, old, next := newServer(), &sale{terms: terms{epoch: 1}}, &sale{terms: terms{epoch: 2}}
	for _, s := range []*sale{old, next} {
		if err := srv.open("1001", s, -1); err != nil {
			t.Fatal(err)
		}
	}
	srv.forget("1001", old)
	if srv.find("1001") != next {
		t.Error("the new sale is gone with the old one")
	}
}

func TestSaleWithoutAnEndIsNotForgotten(t *testing.T) {
	s := startMemory(t)
	s.open(t, "1001", 1, func(s *Seed) { s.EndsAt = math.MaxInt64 })
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
}

func TestKeepDefaults(t *testing.T) {
	for _, keep := range []time.Duration{0, -time.Second} {
		c := newClock()
		s := subject{Filter: NewMemory(MemoryOptions{Now: c.now, Keep: keep}), now: c.now}
		s.open(t, "1001", 1, window(c.now(), c.now()))
		c.advance(DefaultKeep - time.Millisecond)
		verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Ended)
		c.advance(time.Millisecond)
		verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Stale)
	}
}

func TestRealClockIsTheDefault(t *testing.T) {
	s := subject{Filter: NewMemory(MemoryOptions{}), now: time.Now}
	s.open(t, "1001", 1)
	before := time.Now().UnixMilli()
	reply := s.admit(t, "1001", ask("ann", "k1"))
	verdicts(t, reply, Admitted)
	if after := time.Now().UnixMilli(); reply.Now < before || reply.Now > after {
		t.Errorf("the filter says it is %d, between %d and %d", reply.Now, before, after)
	}
}

// Items come and go, and many are never asked for again.
func TestMemoryGrowsWithEveryDeadSale(t *testing.T) {
	s := startMemory(t)
	sales := func() int { return len(s.Filter.(*Memory).running.Load().sales) }
	for i := range 2000 {
		s.open(t, strconv.Itoa(i), 1, window(s.now(), s.now().Add(time.Second)))
		s.advance(s.keep + time.Second) // the last one is dead
		if n := sales(); n > 1 {
			t.Fatalf("%d sales kept after %d seeds, each after the end of the one before", n, i+1)
		}
	}
	for i := range 5000 { // about a hundred alive at a time
		s.open(t, "many-"+strconv.Itoa(i), 1, window(s.now(), s.now().Add(90*time.Second)))
		s.advance(time.Second)
	}
	if n := sales(); n > 200 {
		t.Errorf("%d sales kept, though a hundred are alive", n)
	}
	for i := range 1000 {
		s.admit(t, "never-seeded-"+strconv.Itoa(i), ask("ann", "k1"))
		s.view(t, "never-seeded-"+strconv.Itoa(i))
		s.restore(t, "never-seeded-"+strconv.Itoa(i), "ann", "k1", 1)
	}
	if n := sales(); n > 200 {
		t.Errorf("%d sales kept after asking for items that don't exist", n)
	}
}

// An item's last sale must go as well when nobody seeds any more.
func TestDeadSaleIsDroppedWhenSeen(t *testing.T) {
	s := startMemory(t)
	s.open(t, "1001", 1, window(s.now(), s.now()))
	s.advance(s.keep)
	s.view(t, "1001")
	if n := len(s.Filter.(*Memory).running.Load().sales); n != 0 {
		t.Errorf("%d sales kept", n)
	}
}

// A hundred thousand buyers must not be copied for each batch that comes too late.
func TestEveryRefusalCopiesTheBuyers(t *testing.T) {
	s := startMemory(t)
	s.open(t, "1001", 3)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("bob", "k2"), ask("cleo", "k3")), Admitted, Admitted, Admitted)
	refused := func() Reply { return s.admit(t, "1001", ask("dora", "k4")) }
	first, second := refused(), refused()
	if !sameMap(first.Buyers, second.Buyers) {
		t.Error("two refusals under one version got a set each")
	}
	before := maps.Clone(first.Buyers)
	s.restore(t, "1001", "ann", "k1", 1)
	verdicts(t, s.admit(t, "1001", ask("eve", "k5")), Admitted)
	third := refused()
	if sameMap(first.Buyers, third.Buyers) || !maps.Equal(before, first.Buyers) {
		t.Errorf("the set that a caller holds changed from %v to %v", before, first.Buyers)
	}
}

// sameMap says that writing to one would be writing to the other.
func sameMap(a, b map[string]struct{}) bool {
	const probe = "a user that is nobody"
	a[probe] = struct{}{}
	defer delete(a, probe)
	_, there := b[probe]
	return there
}

// A server that reads requests into one buffer hands out strings that change.
func TestNoteFollowsTheCallersBuffer(t *testing.T) {
	s := startMemory(t)
	buffer := []byte("ann k1 k2 k3 k4")
	at := func(from, to int) string { return unsafe.String(&buffer[from], to-from) }
	user, k1, k2, k3, k4 := at(0, 3), at(4, 6), at(7, 9), at(10, 12), at(13, 15)

	s.open(t, "1001", 10, perUser(9), buyers(map[string]Note{user: {1, []string{k1}}}))
	s.open(t, "1002", 10, perUser(9))
	verdicts(t, s.admit(t, "1001", ask(user, k2), ask(user, k3)), Admitted, Admitted)
	verdicts(t, s.admit(t, "1002", ask(user, k2), ask(user, k3)), Admitted, Admitted)
	s.restore(t, "1001", user, k3, 1)
	verdicts(t, s.admit(t, "1001", ask("bob", k4)), Admitted)
	copy(buffer, "xxxxxxxxxxxxxxx")

	s.holds(t, "1001", 8, map[string]int64{"ann": 2, "bob": 1})
	s.holds(t, "1002", 8, map[string]int64{"ann": 2})
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("ann", "k2"), ask("bob", "k4")), Again, Again, Again)
}

// Everything happens at once: sales, returns, new epochs, losses, failovers. No
// epoch may hand out more than it was seeded with, and the race detector looks on.
func TestLossesInTheMiddleOfARush(t *testing.T) {
	const callers, rounds, stock = 64, 60, 40
	c := newClock()
	m := NewMemory(MemoryOptions{Now: c.now})
	s := subject{Filter: m, now: c.now}
	s.open(t, "1001", stock)
	var epochs atomic.Int64
	epochs.Store(1)
	sold := make([]atomic.Int64, callers*rounds+2) // by epoch

	var running sync.WaitGroup
	for g := range callers {
		running.Go(func() {
			for i := range rounds {
				switch who := strconv.Itoa(g*rounds + i); {
				case g == 0 && i%4 == 0:
					s.open(t, "1001", stock, epoch(epochs.Add(1)))
				case g == 1 && i%15 == 0:
					m.Wipe()
				case g == 2 && i%15 == 0:
					m.Load(m.Snapshot())
				case g == 3:
					s.view(t, "1001")
				default:
					e := epochs.Load()
					requests := []Request{ask(who, "k1"), ask(who, "k1"), ask(who, "k2")}
					reply := s.batch(t, Batch{Item: "1001", Epoch: e, Requests: requests})
					sold[e].Add(took(requests, reply.Verdicts))
					if n := len(maps.Clone(reply.Buyers)); n > stock {
						t.Errorf("%d buyers are noted for %d units", n, stock)
					}
				}
			}
		})
	}
	running.Wait()
	for e := range sold {
		if n := sold[e].Load(); n > stock {
			t.Errorf("epoch %d sold %d units of %d", e, n, stock)
		}
	}
}
