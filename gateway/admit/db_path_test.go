package admit

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func over(t *testing.T, err error) time.Duration {
	t.Helper()
	var o *Overloaded
	if !errors.As(err, &o) {
		t.Fatalf("got %v, want *Overloaded", err)
	}
	return o.RetryAfter
}

// The rate holds, a tenth of a second of it may come at once, and whoever waits
// as told gets in.
func TestDBPathRate(t *testing.T) {
	for _, tt := range []struct {
		qps   float64
		burst int
	}{{200, 20}, {10, 1}, {3, 1}, {0.5, 1}} {
		t.Run(fmt.Sprint(tt.qps), func(t *testing.T) {
			d := newDBPath(DBPathLimit{QPS: tt.qps, Concurrency: 1})
			for i := range tt.burst {
				leave, err := d.enter(noon)
				if err != nil {
					t.Fatalf("purchase %d of a burst of %d: %v", i+1, tt.burst, err)
				}
				leave()
			}
			now := noon
			for range 10 {
				_, err := d.enter(now)
				wait := over(t, err)
				if wait <= 0 {
					t.Fatalf("told to wait %v", wait)
				}
				now = now.Add(wait)
				leave, err := d.enter(now)
				if err != nil {
					t.Fatalf("refused after waiting %v as told: %v", wait, err)
				}
				leave()
			}
			if most := float64(10+1) / tt.qps; now.Sub(noon).Seconds() > most {
				t.Errorf("10 took %v at %v a second", now.Sub(noon), tt.qps)
			}
		})
	}
}

func TestClosedDBPathLetsABurstThrough(t *testing.T) {
	d := newDBPath(DBPathLimit{QPS: 0, Concurrency: 10})
	for i := range 100 {
		_, err := d.enter(noon.Add(time.Duration(i) * time.Hour))
		if wait := over(t, err); wait <= 0 {
			t.Errorf("told to wait %v", wait)
		}
	}
	if n := d.slots.taken.Load(); n != 0 {
		t.Errorf("%d slots are taken for ever", n)
	}
}

// A purchase that finds no slot spends no token, and a refused one keeps no slot.
func TestDBPathConcurrency(t *testing.T) {
	d := newDBPath(DBPathLimit{QPS: 20, Concurrency: 2})
	first, err1 := d.enter(noon)
	_, err2 := d.enter(noon)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	now := noon.Add(50 * time.Millisecond) // one token has flown in
	for range 10 {
		_, err := d.enter(now)
		over(t, err)
	}
	first()
	if _, err := d.enter(now); err != nil {
		t.Errorf("the token was spent on nobody: %v", err)
	}
}

// The bounds hold when everybody comes at once.
func TestDBPathIsDrowned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		x := open(t, gone(), func(o *Options) { o.DBPath = DBPathLimit{QPS: 1e6, Concurrency: 32} })
		x.orders.place = held(answer)
		var sold, turned atomic.Int64
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() {
				switch got := x.told(t, buys(fmt.Sprint("u", i))); got {
				case "order 9":
					sold.Add(1)
				case "overloaded":
					turned.Add(1)
				default:
					t.Errorf("told %q", got)
				}
			})
		}
		synctest.Wait()
		if n := len(x.orders.asked()); n != 32 {
			t.Errorf("%d purchases reached SQL at a time, want 32", n)
		}
		for range 32 {
			answer <- nil
		}
		wg.Wait()
		if sold.Load() != 32 || turned.Load() != 468 {
			t.Errorf("%d sold, %d turned away", sold.Load(), turned.Load())
		}
		if got := x.start(t, buys("next")); true {
			answer <- nil
			if told := <-got; told != "order 9" {
				t.Errorf("afterwards: told %q", told)
			}
		}
	})
}
