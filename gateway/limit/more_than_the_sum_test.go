package limit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// step is what happens next in a random run of several gateways.
type step struct {
	Pause   time.Duration
	Node    int
	What    string
	N       int           // requests at once
	Rate    Rate          // to set
	Latency time.Duration // of the ledger from now on
}

// run is several gateways at one ledger, and a count of what they may grant.
type run struct {
	t       *testing.T
	ledger  *books
	nodes   []*Cluster
	meters  []*alone
	buckets []*ClusterBucket
	rates   []Rate // in force on each gateway
	stop    context.CancelFunc
	granted int
	allowed float64 // what the rates in force let in so far, and the first burst
	last    time.Time
}

func newRun(t *testing.T, nodes int, r Rate) *run {
	t.Helper()
	x := &run{t: t, ledger: newBooks(), allowed: float64(max(r.Burst, 0)), last: time.Now()}
	ctx, stop := context.WithCancel(t.Context())
	x.stop = stop
	for range nodes {
		m := &alone{}
		c := NewCluster(ClusterOptions{Ledger: x.ledger, Meter: m})
		go c.Run(ctx)
		x.nodes, x.meters = append(x.nodes, c), append(x.meters, m)
		x.buckets, x.rates = append(x.buckets, c.Bucket("global", r)), append(x.rates, r)
	}
	return x
}

// flow counts what the rates in force let in since it was last called: each
// different one once, however many gateways go by it, and for gateways that count
// for themselves theirs besides.
func (x *run) flow() {
	now := time.Now()
	elapsed := now.Sub(x.last)
	x.last = now
	seen := []Rate{}
	for _, r := range x.rates {
		if !slices.Contains(seen, r) && !r.Closed() {
			seen = append(seen, r)
			x.allowed += r.flow(elapsed)
		}
	}
}

func (x *run) do(s step) {
	time.Sleep(s.Pause)
	x.flow()
	b := x.buckets[s.Node]
	switch s.What {
	case "ask":
		x.granted += rush(s.N, func() Decision { return b.Allow(time.Now()) })
	case "give back":
		_ = x.nodes[s.Node].giveBack(x.t.Context(), 0)
	case "latency":
		x.ledger.latency.Store(int64(s.Latency))
	case "set":
		synctest.Wait()
		time.Sleep(defaultBound) // calls at the old rate have ended
		x.flow()
		b.Set(time.Now(), s.Rate)
		x.rates[s.Node] = s.Rate
	case "set all":
		time.Sleep(defaultBound)
		x.flow()
		for i, b := range x.buckets {
			b.Set(time.Now(), s.Rate)
			x.rates[i] = s.Rate
		}
	case "fail":
		x.ledger.fails.Store(!x.ledger.fails.Load())
	case "lose":
		x.ledger.loses.Store(!x.ledger.loses.Load())
	case "freeze":
		x.ledger.frozen.Store(!x.ledger.frozen.Load())
	}
	time.Sleep(0)
	x.flow()
}

// check returns what is wrong, or "".
func (x *run) check(maxRate float64) string {
	synctest.Wait()
	x.flow()
	allowed := x.allowed
	for _, m := range x.meters {
		allowed += m.time().Seconds() * maxRate
	}
	if float64(x.granted) > allowed+1e-6 {
		return fmt.Sprintf("granted %d, and at most %.3f were allowed", x.granted, allowed)
	}
	return ""
}

func (x *run) close() {
	x.stop()
	for _, c := range x.nodes {
		_ = c.Close(context.Background()) // it may fail by design
	}
}

func anyOpenRate(t *rapid.T) Rate {
	return Rate{
		QPS:   rapid.SampledFrom([]float64{0.5, 3, 7, 40, 1000, 20000}).Draw(t, "qps"),
		Burst: rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 300)).Draw(t, "burst"),
	}
}

func anySteps(t *rapid.T, nodes int, what ...string) []step {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		s := step{
			Pause: time.Duration(rapid.OneOf(rapid.Int64Range(0, 1e6), rapid.Int64Range(0, 3e9)).Draw(t, "pause")),
			Node:  rapid.IntRange(0, nodes-1).Draw(t, "node"),
			What:  rapid.SampledFrom(append([]string{"ask", "ask", "ask"}, what...)).Draw(t, "what"),
		}
		switch s.What {
		case "ask":
			s.N = rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 100)).Draw(t, "n")
		case "latency":
			s.Latency = time.Duration(rapid.Int64Range(0, int64(2*defaultBound)).Draw(t, "latency"))
		case "set", "set all":
			s.Rate = anyOpenRate(t)
			if rapid.IntRange(0, 9).Draw(t, "close") == 0 {
				s.Rate = Rate{}
			}
		}
		return s
	}), 1, 60).Draw(t, "steps")
}

// play runs the steps in a bubble of their own and returns what is wrong.
func play(t *testing.T, nodes int, r Rate, steps []step) (wrong string, last *run) {
	t.Helper()
	maxRate := r.QPS
	for _, s := range steps {
		maxRate = max(maxRate, s.Rate.QPS)
	}
	synctest.Test(t, func(t *testing.T) {
		x := newRun(t, nodes, r)
		for i, s := range steps {
			x.do(s)
			if wrong = x.check(maxRate); wrong != "" {
				wrong = fmt.Sprintf("after step %d: %s", i, wrong)
				break
			}
		}
		time.Sleep(3 * time.Second) // calls end
		x.close()
		last = x
	})
	return wrong, last
}

// Over random traffic, all gateways together never grant more than one bucket
// would, and what they give back, the ledger has.
func TestMoreThanTheSumIsGranted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := rapid.IntRange(1, 5).Draw(rt, "nodes"), anyOpenRate(rt)
		wrong, x := play(t, nodes, r, anySteps(rt, nodes, "give back", "latency"))
		if wrong != "" {
			rt.Fatal(wrong)
		}
		away := false
		for _, m := range x.meters {
			away = away || m.switched() > 0
		}
		if !away && x.ledger.out != x.granted {
			rt.Fatalf("%d tokens are taken for good and %d were granted: not all of the rest came back", x.ledger.out, x.granted)
		}
	})
}

func TestReloadHandsOutABurstOfTheCluster(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := rapid.IntRange(1, 4).Draw(rt, "nodes"), anyOpenRate(rt)
		if wrong, _ := play(t, nodes, r, anySteps(rt, nodes, "set all", "set all", "give back")); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// While gateways go by different rates, each rate flows once.
func TestReloadThatReachesOneGatewayFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := rapid.IntRange(2, 4).Draw(rt, "nodes"), anyOpenRate(rt)
		if wrong, _ := play(t, nodes, r, anySteps(rt, nodes, "set", "set", "give back")); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// However the ledger fails, a gateway grants at most its share of what the ledger
// gave, and what flowed in while it counted for itself.
func TestFlappingLedgerHandsOutBursts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := rapid.IntRange(1, 4).Draw(rt, "nodes"), anyOpenRate(rt)
		steps := anySteps(rt, nodes, "fail", "lose", "freeze", "latency", "give back")
		if wrong, _ := play(t, nodes, r, steps); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// Sixty-four goroutines on two gateways, on the real clock.
func TestStormOnTheClusterStaysWithinTheLimit(t *testing.T) {
	const qps, burst = 20_000, 500
	ledger, start := newBooks(), time.Now()
	var allows []func(time.Time) Decision
	for range 2 {
		c := NewCluster(ClusterOptions{Ledger: ledger, Bound: time.Minute})
		defer closeCluster(t, c) //nolint:revive // both, when the test ends
		allows = append(allows, c.Bucket("global", Rate{QPS: qps, Burst: burst}).Allow)
	}
	var mu sync.Mutex
	total := 0
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			n := granted(each, func() Decision { return allows[g%2](time.Now()) })
			mu.Lock()
			defer mu.Unlock()
			total += n
		})
	}
	wg.Wait()
	if most := burst + qps*time.Since(start).Seconds(); total < burst || float64(total) > most {
		t.Errorf("granted %d, want %d to %.0f", total, burst, most)
	}
}
