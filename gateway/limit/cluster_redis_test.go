package limit

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// fleet is several gateways under load.
type fleet struct {
	t       *testing.T
	buckets []*ClusterBucket
	cluster []*Cluster
	grants  atomic.Int64
	asked   atomic.Int64
	longest atomic.Int64 // wait of one request, ns
}

func newFleet(t *testing.T, r Rate, o ClusterOptions, clients ...RedisClient) *fleet {
	t.Helper()
	f := &fleet{t: t}
	for _, client := range clients {
		o.Ledger = NewRedisLedger(client, "rg:limit:")
		c := NewCluster(o)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		t.Cleanup(func() {
			stop()
			running.Wait()
			_ = c.Close(context.Background())
		})
		f.cluster, f.buckets = append(f.cluster, c), append(f.buckets, c.Bucket("global", r))
	}
	return f
}

// load asks every gateway with so many workers for d, each about every millisecond,
// and returns how long it took.
func (f *fleet) load(workers int, d time.Duration) time.Duration {
	var wg sync.WaitGroup
	begin := time.Now()
	for _, b := range f.buckets {
		for range workers {
			wg.Go(func() { f.work(b, begin.Add(d)) })
		}
	}
	wg.Wait()
	return time.Since(begin)
}

func (f *fleet) work(b *ClusterBucket, end time.Time) {
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for now := time.Now(); now.Before(end); now = <-pace.C {
		asked := time.Now()
		f.asked.Add(1)
		if b.Allow(asked).OK {
			f.grants.Add(1)
		}
		if waited := int64(time.Since(asked)); waited > f.longest.Load() {
			f.longest.Store(waited) // near enough
		}
	}
}

func clients(s *luatest.Server, n int) []RedisClient {
	all := make([]RedisClient, n)
	for i := range all {
		all[i] = s.Client()
	}
	return all
}

// patient waits for a busy machine, so that only the limit is under test.
var patient = ClusterOptions{Bound: 10 * time.Second}

func TestTwoGatewaysHoldOneRate(t *testing.T) {
	for _, r := range []Rate{{QPS: 2000, Burst: 200}, {QPS: 400, Burst: 400}} {
		f := newFleet(t, r, patient, clients(luatest.Start(t), 2)...)
		took := f.load(32, 3*time.Second) // 64 goroutines
		most := float64(r.Burst) + 1.02*r.flow(took)
		if got := float64(f.grants.Load()); got > most || got < 0.98*r.flow(took) {
			t.Errorf("%+v: granted %.0f of %d in %v, want %.0f to %.0f", r, got, f.asked.Load(), took, 0.98*r.flow(took), most)
		}
	}
}

// A limit that is smaller than the number of gateways is exact all the same.
func TestThreeASecondOverFiveGateways(t *testing.T) {
	r := Rate{QPS: 3, Burst: 1}
	f := newFleet(t, r, patient, clients(luatest.Start(t), 5)...)
	took := f.load(2, 3*time.Second)
	most := float64(r.Burst) + r.flow(took)
	if got := float64(f.grants.Load()); got > most || got < most-2 {
		t.Errorf("granted %.0f in %v, want %.1f or the whole number below", got, took, most)
	}
}

// Refusals cost Redis no commands: tens of thousands of requests cost it a few for
// each lease.
func TestRefusedCostsRedisNothing(t *testing.T) {
	s := luatest.Start(t)
	client := s.Client()
	f := newFleet(t, Rate{QPS: 100, Burst: 10}, patient, client)
	f.buckets[0].Allow(time.Now()) // loads the script
	before := commands(t, client)
	took := f.load(64, 2*time.Second)
	most := int(3*leasesPerSecond*2*took.Seconds()) + 3
	if n := commands(t, client) - before; n > most || n < 1 {
		t.Errorf("%d scripts for %d requests, want at most %d", n, f.asked.Load(), most)
	}
}

// commands counts the scripts that Redis ran.
func commands(t *testing.T, c *redis.Client) (n int) {
	t.Helper()
	info, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, stats, _ := strings.Cut(line, ":calls=")
		if !strings.HasPrefix(name, "cmdstat_eval") {
			continue
		}
		count, _, _ := strings.Cut(stats, ",")
		calls, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n += calls
	}
	return n
}

// outages are what happens to Redis under load.
var outages = map[string]struct {
	begin, end func(*luatest.Server, *luatest.Wire)
}{
	"killed":       {func(s *luatest.Server, _ *luatest.Wire) { s.Kill() }, func(s *luatest.Server, _ *luatest.Wire) { s.Restart() }},
	"frozen":       {func(s *luatest.Server, _ *luatest.Wire) { s.Pause() }, func(s *luatest.Server, _ *luatest.Wire) { s.Continue() }},
	"replies lost": {func(_ *luatest.Server, w *luatest.Wire) { w.LoseReplies(true) }, func(_ *luatest.Server, w *luatest.Wire) { w.LoseReplies(false) }},
}

func TestRedisGoesUnderLoad(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			s := luatest.Start(t)
			w := luatest.NewWire(t, s)
			m, log := &switches{seen: make(chan bool, 100)}, &logbook{}
			r, bound := Rate{QPS: 2000, Burst: 200}, 250*time.Millisecond
			c := redis.NewClient(&redis.Options{Addr: w.Addr(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
			t.Cleanup(func() { _ = c.Close() })
			f := newFleet(t, r, ClusterOptions{Bound: bound, Meter: m, Log: slog.New(slog.NewTextHandler(log, nil))}, c)

			took := f.load(16, 200*time.Millisecond) // Redis answers
			var loaded sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			loaded.Go(func() {
				for ctx.Err() == nil {
					took += f.load(16, 500*time.Millisecond)
				}
			})
			outage.begin(s, w)
			m.wait(t, true)
			outage.end(s, w)
			m.wait(t, false)
			together := time.NewTimer(time.Second) // of load
			<-together.C
			stop()
			loaded.Wait()

			if got, most := float64(f.grants.Load()), float64(r.Burst)+1.02*r.flow(took); got > most || got < 0.5*r.flow(took) {
				t.Errorf("granted %.0f in %v, want at most %.0f, and most of it", got, took, most)
			}
			// Nothing waits for the ledger longer than bound; the rest is the machine.
			if longest := time.Duration(f.longest.Load()); longest > bound+time.Second {
				t.Errorf("a request waited %v, bound %v", longest, bound)
			}
			// A busy machine may be too slow once more.
			if lost, found := log.count("level=WARN"), log.count("level=INFO"); found < 1 || lost-found > 1 {
				t.Errorf("%d lines say that Redis is away and %d that it is back:\n%s", lost, found, log.String())
			}
		})
	}
}

// switches tells when a gateway begins to count alone or together.
type switches struct{ seen chan bool }

func (*switches) Lease(string)     {}
func (m *switches) Alone(yes bool) { m.seen <- yes }

// wait waits until the gateway counts alone, or doesn't.
func (m *switches) wait(t *testing.T, alone bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for {
		select {
		case is := <-m.seen:
			if is == alone {
				return
			}
		case <-deadline.C:
			t.Fatalf("alone: not %v after 30 s", alone)
		}
	}
}

// logbook keeps lines that several goroutines write.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logbook) count(what string) int { return strings.Count(l.String(), what) }

// What an idle gateway leased, another gateway gets, and so does the next
// generation after Close.
func TestUnspentTokensComeBackToRedis(t *testing.T) {
	s := luatest.Start(t)
	r := Rate{QPS: 1, Burst: 400} // hardly anything flows in
	f := newFleet(t, r, patient, s.Client())
	back := NewRedisLedger(s.Client(), "rg:limit:")
	b := f.buckets[0]
	for _, giveBack := range []func() error{
		func() error { return f.cluster[0].giveBack(t.Context(), 0) },
		func() error { return f.cluster[0].Close(t.Context()) },
	} {
		if ok, _, err := back.Take(t.Context(), "global", r, 100); !ok || err != nil {
			t.Fatalf("take: %v, %v", ok, err)
		}
		b.mu.Lock()
		b.keep(100)
		b.mu.Unlock()
		if err := giveBack(); err != nil {
			t.Fatal(err)
		}
	}
	if ok, after, err := back.Take(t.Context(), "global", r, 399); !ok || err != nil {
		t.Errorf("399 of 400 tokens: %v, in %v, %v; want all but a fraction of what was leased", ok, after, err)
	}
}
