package limit

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestReloadOfAClusterHandsOutNoBurst(t *testing.T) {
	five := Rate{QPS: 5, Burst: 5}
	type change struct {
		at   float64
		rate Rate
	}
	tests := map[string]struct {
		spend   int // at the beginning
		changes []change
		at      float64
		want    int // granted then, of many
	}{
		"the same rate, half spent":    {3, []change{{0, five}}, 0, 2},
		"raised burst":                 {5, []change{{0, Rate{QPS: 5, Burst: 500}}}, 0, 0},
		"raised burst, untouched":      {0, []change{{0, Rate{QPS: 5, Burst: 500}}}, 0, 0},
		"lowered rate":                 {5, []change{{0, Rate{QPS: 0.01, Burst: 5}}}, 0, 0},
		"raised rate":                  {5, []change{{0, Rate{QPS: 500, Burst: 5}}}, 0, 0},
		"lowered burst":                {0, []change{{0, Rate{QPS: 5, Burst: 2}}}, 0, 0},
		"lowered, then raised":         {0, []change{{0, Rate{QPS: 5, Burst: 1}}, {0, five}}, 0, 0},
		"closed, then opened":          {5, []change{{0, Rate{}}, {60, five}}, 60, 0},
		"fast and gone before a touch": {5, []change{{0, Rate{QPS: 1000, Burst: 500}}, {0.2, five}}, 0.2, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewCluster(ClusterOptions{Ledger: newBooks()})
				defer closeCluster(t, c)
				b, start := c.Bucket("global", five), time.Now()
				until := func(seconds float64) {
					time.Sleep(time.Until(start.Add(time.Duration(seconds * float64(time.Second)))))
				}
				granted(tt.spend, func() Decision { return settled(b) })
				for _, change := range tt.changes {
					until(change.at)
					b.Set(time.Now(), change.rate)
				}
				until(tt.at)
				if got := granted(2000, func() Decision { return settled(b) }); got != tt.want {
					t.Errorf("granted %d, want %d", got, tt.want)
				}
			})
		})
	}
}

// A new rate holds from the change on, and is reached.
func TestNewRateFlowsAfterAReload(t *testing.T) {
	for _, next := range []Rate{{QPS: 10, Burst: 100}, {QPS: 1000, Burst: 100}, {QPS: 100, Burst: 10}} {
		synctest.Test(t, func(t *testing.T) {
			c := NewCluster(ClusterOptions{Ledger: newBooks()})
			defer closeCluster(t, c)
			b := c.Bucket("global", Rate{QPS: 100, Burst: 100})
			ask(b, 2*time.Second)
			b.Set(time.Now(), next)
			count := 0
			for range 10 {
				n, _ := ask(b, time.Second)
				count += n
			}
			if want := 10 * next.QPS; float64(count) > want+10 || float64(count) < 0.98*want-10 {
				t.Errorf("%+v: granted %d in 10 s", next, count)
			}
		})
	}
}

// Tokens that are here survive a reload, and no more than the new burst.
func TestReloadCapsThePot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(ClusterOptions{Ledger: newBooks()})
		defer closeCluster(t, c)
		items := c.Items(ItemRates{Default: Rate{QPS: 2000, Burst: 200}}, 10)
		items.Allow("1001", time.Now()) // leases a hundred
		items.Set(time.Now(), ItemRates{Default: Rate{QPS: 10, Burst: 3}})
		if got := granted(100, func() Decision { return items.Allow("1001", time.Now()) }); got != 3 {
			t.Errorf("granted %d, want the new burst of 3", got)
		}
	})
}

// A bucket in use by the ledger's absence follows a reload too.
func TestReloadWhileTheLedgerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		ledger.fails.Store(true)
		c := NewCluster(ClusterOptions{Ledger: ledger})
		b := c.Bucket("global", Rate{QPS: 100, Burst: 10})
		ask(b, time.Second)
		b.Set(time.Now(), Rate{QPS: 500, Burst: 500})
		if got, _ := ask(b, 10*time.Second); got < 4950 || got > 5010 {
			t.Errorf("granted %d in 10 s, want about 5000", got)
		}
		synctest.Wait()
		_ = c.Close(t.Context())
	})
}
