package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Tokens that an idle gateway holds go back to where another finds them.
func TestIdleGatewayHoards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		r := Rate{QPS: 0.001, Burst: 100} // nothing flows in meanwhile
		a, b := NewCluster(ClusterOptions{Ledger: ledger}), NewCluster(ClusterOptions{Ledger: ledger})
		defer closeCluster(t, a)
		defer closeCluster(t, b)
		idle := a.Bucket("global", r)
		idle.keep(40)
		idle.asked = time.Now()
		ledger.out = 40
		ctx, stop := context.WithCancel(t.Context())
		go a.Run(ctx)
		busy := b.Bucket("global", r)
		for range 60 {
			busy.Allow(time.Now())
		}
		time.Sleep(idleAfter + 2*sweepIdleEvery)
		stop()
		synctest.Wait()
		if ledger.out != 60 || ledger.returns != 1 {
			t.Errorf("%d tokens are out after %d returns, want the 60 that were spent", ledger.out, ledger.returns)
		}
	})
}

// What could not be given back is forgotten, at once and for all buckets: it is
// not tried again, and the frozen ledger is waited for once.
func TestGivingBackFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		ledger.frozen.Store(true)
		c := NewCluster(ClusterOptions{Ledger: ledger})
		for range 100 {
			c.Bucket("some", Rate{QPS: 1000, Burst: 100}).pot = 7
		}
		began := time.Now()
		if err := c.Close(t.Context()); err == nil {
			t.Error("Close says that all was given back")
		}
		if d := time.Since(began); d > defaultBound {
			t.Errorf("Close took %v, want one wait of %v", d, defaultBound)
		}
		for _, b := range c.all() {
			if b.pot != 0 {
				t.Fatalf("%d tokens are still here", b.pot)
			}
		}
	})
}

// Close doesn't outlast its context, whatever is under way.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		ledger.frozen.Store(true)
		c := NewCluster(ClusterOptions{Ledger: ledger, Bound: time.Minute})
		go c.Bucket("global", Rate{QPS: 1, Burst: 1}).Allow(time.Now())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := c.Close(ctx); err == nil || time.Since(began) != time.Second {
			t.Errorf("Close returned %v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
	})
}

// Without Run, unspent tokens expire all the same.
func TestUnspentTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		c := NewCluster(ClusterOptions{Ledger: ledger})
		defer closeCluster(t, c)
		b := c.Bucket("global", Rate{QPS: 1000, Burst: 100})
		b.Allow(time.Now())
		before := ledger.calls()
		time.Sleep(expireAfter)
		if d := b.Allow(time.Now()); !d.OK || ledger.calls() == before {
			t.Errorf("%+v from tokens of two seconds ago", d)
		}
	})
}

func TestCloseGivesEverythingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newBooks()
		c := NewCluster(ClusterOptions{Ledger: ledger})
		items := c.Items(ItemRates{Default: Rate{QPS: 1000, Burst: 100}}, 10)
		for _, item := range []string{"1", "2", "3"} {
			items.Allow(item, time.Now())
		}
		if ledger.out <= 3 {
			t.Fatalf("%d tokens are out, want leases", ledger.out)
		}
		closeCluster(t, c)
		if ledger.out != 3 {
			t.Errorf("%d tokens are out, want the 3 that were spent", ledger.out)
		}
	})
}
