package limit

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// books is a ledger in exact arithmetic, with faults.
type books struct {
	latency atomic.Int64 // ns of each call, half of it before it is done
	fails   atomic.Bool  // each call is answered with an error and not done
	loses   atomic.Bool  // each call is done, and its answer lost
	frozen  atomic.Bool  // no call is done or answered

	mu       sync.Mutex
	accounts map[string]*exact
	takes    int // that were done
	returns  int
	empties  int
	out      int // tokens taken and not returned
}

func newBooks() *books { return &books{accounts: map[string]*exact{}} }

var errBooks = errors.New("the books are closed")

func (l *books) Take(ctx context.Context, key string, r Rate, n int) (ok bool, after time.Duration, err error) {
	err = l.do(ctx, key, r, func(e *exact) {
		l.takes++
		missing := new(big.Rat).Sub(big.NewRat(int64(n), 1), e.tokens)
		if ok = missing.Sign() <= 0; ok {
			e.tokens.Sub(e.tokens, big.NewRat(int64(n), 1))
			l.out += n
			return
		}
		f, _ := missing.Float64()
		after = r.timeFor(f) + 1
	})
	return ok && err == nil, after, err
}

func (l *books) Return(ctx context.Context, key string, r Rate, n int) error {
	return l.do(ctx, key, r, func(e *exact) {
		l.returns++
		l.out -= n
		e.tokens.Add(e.tokens, big.NewRat(int64(n), 1))
		e.cap()
	})
}

func (l *books) Empty(ctx context.Context, key string, r Rate) error {
	return l.do(ctx, key, r, func(e *exact) {
		l.empties++
		if e.tokens.Sign() > 0 {
			e.tokens.SetInt64(0)
		}
	})
}

func (l *books) do(ctx context.Context, key string, r Rate, entry func(*exact)) error {
	if l.frozen.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if l.fails.Load() {
		return errBooks
	}
	if err := l.travel(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	id := fmt.Sprint(key, r)
	e := l.accounts[id]
	if e == nil {
		e = newExact(r)
		e.last = time.Now()
		l.accounts[id] = e
	}
	e.flow(time.Now())
	entry(e)
	l.mu.Unlock()
	if l.loses.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.travel(ctx)
}

// travel is one way to the ledger or back.
func (l *books) travel(ctx context.Context) error {
	latency := time.Duration(l.latency.Load())
	if latency == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(latency / 2):
		return nil
	}
}

// calls returns how many were done.
func (l *books) calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takes + l.returns + l.empties
}

// alone notes how long a gateway counts for itself.
type alone struct {
	mu       sync.Mutex
	since    time.Time // zero while it doesn't
	total    time.Duration
	switches int
	leases   map[string]int
}

func (a *alone) Lease(result string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leases == nil {
		a.leases = map[string]int{}
	}
	a.leases[result]++
}

func (a *alone) Alone(yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.switches++
	if yes {
		a.since = time.Now()
		return
	}
	a.total += time.Since(a.since)
	a.since = time.Time{}
}

func (a *alone) time() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		return a.total
	}
	return a.total + time.Since(a.since)
}

func (a *alone) switched() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.switches
}

// closeCluster ends a cluster with the test.
func closeCluster(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// rush asks from n goroutines at once and returns how many were granted.
func rush(n int, allow func() Decision) int {
	var grants atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if allow().OK {
				grants.Add(1)
			}
		})
	}
	wg.Wait()
	return int(grants.Load())
}
