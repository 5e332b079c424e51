package lua

import (
	"math"
	"testing"
)

func TestDecide(t *testing.T) {
	const start, end = 1000, 2000
	open := terms{epoch: 7, origin: "here", startsAt: start, endsAt: end, perUser: 3}
	held := map[string]*note{
		"one":    {attempts: []attempt{{"k1", 1}}},
		"full":   {loose: 1, attempts: []attempt{{"s1", 0}, {"k1", 2}}},
		"beyond": {loose: 9, attempts: []attempt{{"s1", 0}}}, // the limit was lowered since
	}
	asked := asking{epoch: 7, origin: "here", now: start}

	for _, tt := range []struct {
		name   string
		change func(*sale, *asking)
		r      Request
		want   Verdict
	}{
		{"nothing in the way", nil, askFor(1, "new", "k1"), Admitted},
		{"all that is left", nil, askFor(2, "new", "k1"), Admitted},
		{"one more than is left", nil, askFor(3, "new", "k1"), SoldOut},
		{"nothing left", func(s *sale, _ *asking) { s.stock = 0 }, askFor(1, "new", "k1"), SoldOut},

		{"within the limit", nil, askFor(2, "one", "k2"), Admitted},
		{"past the limit by one", nil, askFor(3, "one", "k2"), Duplicate},
		{"limit reached", nil, askFor(1, "full", "k2"), Duplicate},
		{"limit long passed", nil, askFor(1, "beyond", "k2"), Duplicate},
		{"limit passed at once", nil, askFor(4, "new", "k1"), Duplicate},
		{"a quantity that overflows the sum", nil, askFor(math.MaxInt, "one", "k2"), Duplicate},
		{"limit before stock", func(s *sale, _ *asking) { s.stock = 0 }, askFor(1, "full", "k2"), Duplicate},

		{"paused", func(s *sale, _ *asking) { s.paused = true }, askFor(1, "new", "k1"), Paused},
		{"pause before limit", func(s *sale, _ *asking) { s.paused = true }, askFor(1, "full", "k2"), Paused},

		{"a millisecond early", func(_ *sale, a *asking) { a.now = start - 1 }, askFor(1, "new", "k1"), NotStarted},
		{"at the last millisecond", func(_ *sale, a *asking) { a.now = end - 1 }, askFor(1, "new", "k1"), Admitted},
		{"at the end", func(_ *sale, a *asking) { a.now = end }, askFor(1, "new", "k1"), Ended},
		{"early before pause", func(s *sale, a *asking) { a.now, s.paused = 0, true }, askFor(1, "new", "k1"), NotStarted},
		{"ended before pause", func(s *sale, a *asking) { a.now, s.paused = end, true }, askFor(1, "new", "k1"), Ended},

		{"noted key", nil, askFor(1, "one", "k1"), Again},
		{"noted key of a seed", nil, askFor(1, "full", "s1"), Again},
		{"noted key with another quantity", nil, askFor(99, "one", "k1"), Again},
		{"noted key, no stock", func(s *sale, _ *asking) { s.stock = 0 }, askFor(1, "one", "k1"), Again},
		{"noted key, early", func(_ *sale, a *asking) { a.now = 0 }, askFor(1, "one", "k1"), Again},
		{"noted key, ended", func(_ *sale, a *asking) { a.now = end }, askFor(1, "one", "k1"), Again},
		{"noted key, paused", func(s *sale, _ *asking) { s.paused = true }, askFor(1, "one", "k1"), Again},
		{"another user's key", nil, askFor(1, "new", "k1"), Admitted},

		{"earlier epoch", func(_ *sale, a *asking) { a.epoch = 6 }, askFor(1, "new", "k1"), Stale},
		{"later epoch", func(_ *sale, a *asking) { a.epoch = 8 }, askFor(1, "new", "k1"), Stale},
		{"another server", func(_ *sale, a *asking) { a.origin = "there" }, askFor(1, "new", "k1"), Stale},
		{"stale before noted", func(_ *sale, a *asking) { a.epoch = 8 }, askFor(1, "one", "k1"), Stale},
		{"stale before the window", func(_ *sale, a *asking) { a.epoch, a.now = 8, 0 }, askFor(1, "new", "k1"), Stale},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, a := &sale{terms: open, stock: 2, buyers: held}, asked
			if tt.change != nil {
				tt.change(s, &a)
			}
			if got := decide(s, a, tt.r); got != tt.want {
				t.Errorf("decide = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestNothingKnownIsStaleToEveryone(t *testing.T) {
	for _, a := range []asking{{origin: "here"}, {origin: "here", epoch: 7, now: 1000}} {
		if got := decide(new(sale), a, ask("ann", "k1")); got != Stale {
			t.Errorf("decide of a sale never seeded, asked %+v: %v, want stale", a, got)
		}
	}
}
