package limit

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// faults are the ways in which a ledger is away.
var faults = map[string]func(l *books, on bool){
	"unreachable": func(l *books, on bool) { l.fails.Store(on) },
	"frozen":      func(l *books, on bool) { l.frozen.Store(on) },
	"deaf":        func(l *books, on bool) { l.loses.Store(on) },
	"slow": func(l *books, on bool) {
		l.latency.Store(0)
		if on {
			l.latency.Store(int64(2 * time.Second))
		}
	},
}

// ask asks every millisecond for d, and returns how many were granted and the
// longest that one waited.
func ask(b *ClusterBucket, d time.Duration) (grants int, longest time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		asked := time.Now()
		if b.Allow(asked).OK {
			grants++
		}
		longest = max(longest, time.Since(asked))
	}
	return grants, longest
}

func TestLedgerAway(t *testing.T) {
	for name, set := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				ledger, m := newBooks(), &alone{}
				c := NewCluster(ClusterOptions{Ledger: ledger, Meter: m, Log: slog.New(slog.NewTextHandler(&log, nil))})
				defer closeCluster(t, c)
				b := c.Bucket("global", Rate{QPS: 100, Burst: 50})
				ask(b, time.Second)

				set(ledger, true)
				down := time.Now()
				grants, longest := ask(b, 10*time.Second)
				if longest > defaultBound {
					t.Errorf("a request waited %v, want at most %v", longest, defaultBound)
				}
				if grants < 980 || grants > 1005 { // a lease may be left in the pot
					t.Errorf("granted %d in 10 s without the ledger, want about 1000: the rate, without a fresh burst", grants)
				}
				m.mu.Lock()
				if n := m.leases["error"]; n > 42 {
					t.Errorf("%d calls failed in %v, want four a second at most", n, time.Since(down))
				}
				m.mu.Unlock()

				set(ledger, false)
				grants, longest = ask(b, 10*time.Second)
				if longest > defaultBound || grants < 960 || grants > 1010 {
					t.Errorf("after the return: granted %d in 10 s and waited %v, want about 1000", grants, longest)
				}
				if c.outage.spell().away {
					t.Error("still away long after the return")
				}
				if got := strings.Count(log.String(), "level=WARN"); got != 1 || strings.Count(log.String(), "\n") != 2 || m.switched() != 2 {
					t.Errorf("switched %d times, want one line each way:\n%s", m.switched(), &log)
				}
			})
		})
	}
}

// While the ledger is away, nobody waits for it: not even whoever asks if it is
// back.
func TestWaitForALedgerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		ledger.frozen.Store(true)
		c := NewCluster(ClusterOptions{Ledger: ledger})
		b := c.Bucket("global", Rate{QPS: 100, Burst: 50})
		b.Allow(time.Now())
		if _, longest := ask(b, 10*time.Second); longest != 0 {
			t.Errorf("a request waited %v, want not at all", longest)
		}
		time.Sleep(defaultBound)
		_ = c.Close(t.Context())
	})
}

// One bucket asks for all whether the ledger is back.
func TestOneProbeForManyBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger, m := newBooks(), &alone{}
		ledger.fails.Store(true)
		c := NewCluster(ClusterOptions{Ledger: ledger, Meter: m})
		items := c.Items(ItemRates{Default: Rate{QPS: 100, Burst: 50}}, 1000)
		for range 1000 { // for 10 s
			for item := range 100 {
				items.Allow(string(rune('A'+item)), time.Now())
			}
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		m.mu.Lock()
		if n := m.leases["error"]; n > 42 {
			t.Errorf("%d calls in 10 s for 100 items, want four a second at most", n)
		}
		m.mu.Unlock()
		_ = c.Close(t.Context())
	})
}

// A call that began before the ledger was lost and found again says nothing of
// the ledger as it is now.
func TestLateAnswerOfAnOldSpell(t *testing.T) {
	o := &outage{}
	o.init(slog.New(slog.DiscardHandler), noMeter{})
	first := o.spell()
	o.lost(first, noon, errBooks)
	away := o.spell()
	if !away.away {
		t.Fatal("an error changed nothing")
	}
	if o.found(first, after(1)); !o.spell().away {
		t.Error("an answer to a question from before ended the outage")
	}
	back := o.found(away, after(2))
	if back.away {
		t.Fatal("a probe's answer changed nothing")
	}
	for _, s := range []*spell{first, away} {
		if o.lost(s, after(3), errBooks); o.spell() != back {
			t.Error("an error from an earlier spell began another outage")
		}
	}
}

func TestClosedClusterCountsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		c := NewCluster(ClusterOptions{Ledger: ledger})
		b := c.Bucket("global", Rate{QPS: 100, Burst: 50})
		ask(b, time.Second)
		closeCluster(t, c)
		calls := ledger.calls()
		if grants, longest := ask(b, time.Second); grants < 98 || grants > 101 || longest != 0 {
			t.Errorf("granted %d in a second after Close and waited %v, want about 100 at once", grants, longest)
		}
		if n := ledger.calls() - calls; n != 0 {
			t.Errorf("%d calls after Close", n)
		}
	})
}
