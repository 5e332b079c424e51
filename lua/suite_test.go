package lua

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// subject is a filter under test, with what the suite may do to the world it
// lives in.
type subject struct {
	Filter
	now  func() time.Time // the filter's clock
	wipe func()           // everything is lost, as by a server that restarts empty
	copy func() func()    // copies the state; the result makes that copy take over
	// advance moves the clock and keep is how long a sale outlives its end; both
	// are zero where the clock is not ours.
	advance func(time.Duration)
	keep    time.Duration
}

// suite is what every filter must do. start returns an empty one, which nobody
// else uses; its test ends with t.
func suite(t *testing.T, start func(t testing.TB) subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, subject){
		"repeat clicks of one buyer end the sale":             testRepeatClicks,
		"one key takes units twice":                           testOneKeyTwice,
		"missing state reads as zero":                         testMissingState,
		"an older copy is believed after a failover":          testFailover,
		"one item below zero touches another":                 testItemsApart,
		"a purchase before the start":                         testBeforeStart,
		"a purchase after the end":                            testAfterEnd,
		"a purchase in a pause":                               testPaused,
		"a limit of one defeated by quantity":                 testQuantityCounts,
		"a large request closes the sale for small ones":      testSmallerStillFits,
		"a quantity below one adds units":                     testBadQuantity,
		"a call that is given up is executed":                 testGivenUp,
		"every refusal carries the list of buyers":            testBuyersOnlyWhenNews,
		"a restore delivered twice gives units twice":         testRestoreTwice,
		"a restore of units never taken":                      testRestoreUnknown,
		"a restore after a reseed":                            testRestoreAfterReseed,
		"a restore of more than the buyer holds":              testRestoreTooMuch,
		"a limit stays after the order was closed":            testLimitComesBack,
		"an older seed overwrites live stock":                 testSeedForwardOnly,
		"a seed keeps something of the old epoch":             testSeedReplaces,
		"a seed with nonsense in it":                          testBadSeed,
		"two seeders of one epoch both win":                   testSeedersRace,
		"one unit too many":                                   testExactlyN,
		"a call delivered twice changes something":            testTwiceIsOnce,
		"64 callers at once":                                  testManyCallers,
		"anything else than a naive model of it would answer": testModel,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

// open seeds a sale of stock units that began a minute ago and ends in an hour,
// one unit a user, as changed by the options.
func (s subject) open(t testing.TB, item string, stock int64, change ...func(*Seed)) Seed {
	t.Helper()
	now := s.now().UnixMilli()
	seed := Seed{Item: item, Epoch: 1, StartsAt: now - 60_000, EndsAt: now + 3_600_000, PerUser: 1, Stock: stock}
	for _, c := range change {
		c(&seed)
	}
	if err := s.Seed(t.Context(), seed); err != nil {
		t.Fatalf("Seed(%+v): %v", seed, err)
	}
	return seed
}

// admit sends requests under epoch 1, with no version known.
func (s subject) admit(t testing.TB, item string, r ...Request) Reply {
	t.Helper()
	return s.batch(t, Batch{Item: item, Epoch: 1, Requests: r})
}

func (s subject) batch(t testing.TB, b Batch) Reply {
	t.Helper()
	reply, err := s.Admit(t.Context(), b)
	if err != nil {
		t.Fatalf("Admit(%+v): %v", b, err)
	}
	if len(reply.Verdicts) != len(b.Requests) {
		t.Fatalf("Admit gave %d verdicts for %d requests", len(reply.Verdicts), len(b.Requests))
	}
	return reply
}

func (s subject) restore(t testing.TB, item, user, bizID string, qty int64) bool {
	t.Helper()
	changed, err := s.Restore(t.Context(), item, user, bizID, qty)
	if err != nil {
		t.Fatalf("Restore(%q, %q, %q, %d): %v", item, user, bizID, qty, err)
	}
	return changed
}

// view looks with the buyers.
func (s subject) view(t testing.TB, item string) View {
	t.Helper()
	v, err := s.View(t.Context(), item, true)
	if err != nil {
		t.Fatalf("View(%q): %v", item, err)
	}
	return v
}

// holds fails the test unless the filter has this stock and these buyers.
func (s subject) holds(t testing.TB, item string, stock int64, buyers map[string]int64) {
	t.Helper()
	v := s.view(t, item)
	if v.Stale {
		t.Fatalf("%q is stale", item)
	}
	if v.Stock != stock {
		t.Errorf("%q has %d units left, want %d", item, v.Stock, stock)
	}
	if diff := cmp.Diff(buyers, v.Buyers); diff != "" {
		t.Errorf("buyers of %q (-want +got):\n%s", item, diff)
	}
}

// verdicts fails the test unless the reply has these.
func verdicts(t testing.TB, got Reply, want ...Verdict) {
	t.Helper()
	if diff := cmp.Diff(want, got.Verdicts); diff != "" {
		t.Fatalf("verdicts (-want +got):\n%s", diff)
	}
}

// ask is a request for one unit.
func ask(user, bizID string) Request { return askFor(1, user, bizID) }

func askFor(qty int, user, bizID string) Request { return Request{User: user, BizID: bizID, Qty: qty} }

// crowd is n users, each with one request for one unit.
func crowd(n int) []Request {
	requests := make([]Request, n)
	for i := range requests {
		requests[i] = ask("user-"+strconv.Itoa(i), "key-"+strconv.Itoa(i))
	}
	return requests
}

// took is how many units the requests were admitted for.
func took(requests []Request, verdicts []Verdict) (units int64) {
	for i, v := range verdicts {
		if v == Admitted {
			units += int64(requests[i].Qty)
		}
	}
	return units
}

func perUser(n int64) func(*Seed)          { return func(s *Seed) { s.PerUser = n } }
func epoch(n int64) func(*Seed)            { return func(s *Seed) { s.Epoch = n } }
func buyers(b map[string]Note) func(*Seed) { return func(s *Seed) { s.Buyers = b } }
func paused(s *Seed)                       { s.Paused = true }
func window(from, to time.Time) func(*Seed) {
	return func(s *Seed) { s.StartsAt, s.EndsAt = from.UnixMilli(), to.UnixMilli() }
}
