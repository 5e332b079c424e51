package admit

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errCall = errors.New("the call failed")

// bench is a breaker with calls that end as they are told to.
type bench struct {
	*breaker
	states []string
	o      BreakerOptions
}

// usual are options under which ten failures of ten open it for 5 s.
var usual = BreakerOptions{Window: 10 * time.Second, MinRequests: 10, FailureRatio: 0.5, SlowCall: 200 * time.Millisecond, OpenFor: 5 * time.Second}

func newBench() *bench {
	b := &bench{o: usual}
	b.breaker = newBreaker(usual, func(s string) { b.states = append(b.states, s) }, time.Now)
	return b
}

// calls makes n calls that end so, and returns how many were let through.
func (b *bench) calls(n int, err error) (through int) {
	for range n {
		_ = b.run(func(time.Duration) error {
			through++
			return err
		})
	}
	return through
}

func (b *bench) change(change func(*BreakerOptions)) {
	change(&b.o)
	b.set(b.o)
}

func (b *bench) wantStates(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, b.states); diff != "" {
		t.Errorf("states (-want +got)\n%s", diff)
	}
}

func TestThresholdsChangeWhileClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.calls(9, errCall)
		b.change(func(o *BreakerOptions) { o.MinRequests = 20 })
		b.calls(9, errCall)
		b.wantStates(t, "closed")
		b.change(func(o *BreakerOptions) { o.FailureRatio = 1 })
		b.calls(10, nil)
		b.calls(10, errCall)
		b.wantStates(t, "closed")
		b.change(func(o *BreakerOptions) { o.FailureRatio = 0.5 })
		b.calls(1, errCall)
		b.wantStates(t, "closed", "open")
	})
}

// An open breaker stays open for open_for as it is now, from the moment it
// opened, however often the options change meanwhile.
func TestOpenBreakerChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*BreakerOptions)
		times  int
		until  time.Duration // after it opened
	}{
		"nothing":        {func(*BreakerOptions) {}, 1, 5 * time.Second},
		"longer":         {func(o *BreakerOptions) { o.OpenFor = time.Minute }, 1, time.Minute},
		"shorter":        {func(o *BreakerOptions) { o.OpenFor = 3 * time.Second }, 1, 3 * time.Second},
		"another window": {func(o *BreakerOptions) { o.Window = time.Minute }, 1, 5 * time.Second},
		"thresholds":     {func(o *BreakerOptions) { o.MinRequests, o.FailureRatio = 1000, 1 }, 1, 5 * time.Second},
		"200 windows":    {func(o *BreakerOptions) { o.Window += time.Second }, 200, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				b.calls(10, errCall)
				time.Sleep(2 * time.Second)
				for range tt.times {
					b.change(tt.change)
				}
				time.Sleep(tt.until - 2*time.Second - time.Millisecond)
				if n := b.calls(100, nil); n != 0 {
					t.Fatalf("%d calls went through before its time was over", n)
				}
				time.Sleep(2 * time.Millisecond)
				if n := b.calls(1, errCall); n != 1 {
					t.Fatalf("%d probes after its time was over, want 1", n)
				}
				b.wantStates(t, "closed", "open", "half-open", "open")
				time.Sleep(b.o.OpenFor + time.Millisecond)
				if n := b.calls(100, nil); n != 100 {
					t.Errorf("%d of 100 calls go through when it is well again", n)
				}
			})
		})
	}
}

// A time that is over already by the new open_for is over.
func TestOpenForIsOverWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.calls(10, errCall)
		time.Sleep(2 * time.Second)
		b.change(func(o *BreakerOptions) { o.OpenFor = time.Second })
		b.calls(1, nil)
		b.wantStates(t, "closed", "open", "half-open", "closed")
	})
}

// While half open: the probe under way counts for the window in which it began,
// and one more finds out for the new one.
func TestHalfOpenBreakerChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		window time.Duration
		late   error // how the probe under way ends
		want   []string
	}{
		"thresholds, fails":  {0, errCall, []string{"closed", "open", "half-open", "open"}},
		"thresholds, well":   {0, nil, []string{"closed", "open", "half-open", "closed"}},
		"new window, fails":  {time.Minute, errCall, []string{"closed", "open", "half-open"}},
		"new window, well":   {time.Minute, nil, []string{"closed", "open", "half-open"}},
		"small window, well": {1, nil, []string{"closed", "open", "half-open"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				b.calls(10, errCall)
				time.Sleep(5*time.Second + time.Millisecond)
				end, ended := make(chan error), make(chan struct{})
				go func() {
					defer close(ended)
					_ = b.run(func(time.Duration) error { return <-end })
				}()
				synctest.Wait()
				if n := b.calls(100, nil); n != 0 {
					t.Fatalf("%d more probes at a time", n)
				}
				b.change(func(o *BreakerOptions) {
					o.MinRequests = 3
					if tt.window > 0 {
						o.Window = tt.window
					}
				})
				end <- tt.late
				<-ended
				b.wantStates(t, tt.want...)
				time.Sleep(5*time.Second + time.Millisecond)
				if n := b.calls(1, nil); n != 1 {
					t.Errorf("no probe comes after the change")
				}
				if last := b.states[len(b.states)-1]; last != "closed" {
					t.Errorf("%s after a probe that was well", last)
				}
			})
		})
	}
}

// An answer that comes when the breaker has opened long ago lets nobody through.
func TestLateAnswerHalfOpensTheBreaker(t *testing.T) {
	for name, late := range map[string]error{"well": nil, "failed": errCall} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				end, ended := make(chan error), make(chan struct{})
				go func() {
					defer close(ended)
					_ = b.run(func(time.Duration) error { return <-end })
				}()
				synctest.Wait()
				b.calls(10, errCall)
				time.Sleep(time.Second)
				end <- late
				<-ended
				time.Sleep(time.Second)
				if n := b.calls(100, nil); n != 0 {
					t.Errorf("%d calls went through an open breaker", n)
				}
				b.wantStates(t, "closed", "open")
				time.Sleep(3*time.Second + time.Millisecond)
				b.calls(1, nil)
				b.wantStates(t, "closed", "open", "half-open", "closed")
			})
		})
	}
}

// A clock that is set back doesn't keep the breaker open until it has caught up.
func TestClockSetBackKeepsTheBreakerOpen(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	b := newBreaker(usual, func(string) {}, func() time.Time { return now })
	for range 10 {
		_ = b.run(func(time.Duration) error { return errCall })
	}
	now = now.Add(-time.Hour)
	if b.stillOpen() {
		t.Error("it is")
	}
}

func TestSlowCallChanges(t *testing.T) {
	b := newBench()
	for _, want := range []time.Duration{usual.SlowCall, time.Second} {
		b.change(func(o *BreakerOptions) { o.SlowCall = want })
		_ = b.run(func(bound time.Duration) error {
			if bound != want {
				t.Errorf("a call is bounded by %v, want %v", bound, want)
			}
			return nil
		})
	}
}

// Whatever comes at once: the reported states follow each other, and a filter that
// is well again is used again.
func TestBreakerChangesUnderLoad(t *testing.T) {
	o := usual
	o.MinRequests, o.OpenFor = 5, time.Microsecond
	var states []string
	b := newBreaker(o, func(s string) { states = append(states, s) }, time.Now)
	var well atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				_ = b.run(func(time.Duration) error {
					if well.Load() {
						return nil
					}
					return errCall
				})
			}
		})
	}
	for i := range 200 {
		o.Window = time.Duration(1+i%3) * time.Second
		b.set(o)
	}
	wg.Wait()
	well.Store(true)
	for b.run(func(time.Duration) error { return nil }) != nil {
		runtime.Gosched() // open_for is a microsecond
	}
	follows := map[string][]string{"closed": {"open"}, "open": {"half-open"}, "half-open": {"open", "closed"}}
	for i := 1; i < len(states); i++ {
		if !slices.Contains(follows[states[i-1]], states[i]) {
			t.Fatalf("%s after %s, change %d of %d", states[i], states[i-1], i, len(states))
		}
	}
	if last := states[len(states)-1]; last != "closed" {
		t.Errorf("%s in the end", last)
	}
}
