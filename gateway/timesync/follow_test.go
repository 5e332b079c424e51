package timesync

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// source is another machine's clock, and the way to it.
type source struct {
	mu     sync.Mutex
	offset time.Duration // ahead of the true time
	trip   time.Duration // there and back
	down   bool          // an error at once
	hung   bool          // no answer
	asked  int
}

func (s *source) set(change func(*source)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *source) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Round(0).Add(s.offset)
}

func (s *source) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *source) ask(ctx context.Context) (time.Time, error) {
	s.mu.Lock()
	s.asked++
	trip, down, hung := s.trip, s.down, s.hung
	s.mu.Unlock()
	if down {
		return time.Time{}, errors.New("connection refused")
	}
	if hung {
		<-ctx.Done()
		return time.Time{}, ctx.Err()
	}
	time.Sleep(trip / 4) // the ways differ
	now := s.now()
	time.Sleep(trip - trip/4)
	return now, ctx.Err()
}

// followed runs a test in a bubble with a clock that follows the source.
func followed(t *testing.T, s *source, now func() time.Time, test func(t *testing.T, c *Clock, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		if now == nil {
			now = time.Now
		}
		c := New(now)
		ctx, stop := context.WithCancel(t.Context())
		go Follow(ctx, FollowOptions{Clock: c, Ask: s.ask, Now: now, Log: slog.New(slog.NewTextHandler(&log, nil))})
		time.Sleep(time.Second)
		synctest.Wait()
		test(t, c, &log)
		stop()
		synctest.Wait()
	})
}

// within fails the test unless the clock is right within what it tells, and that
// is at most the limit.
func within(t *testing.T, c *Clock, s *source, limit time.Duration) {
	t.Helper()
	off, bound := c.Now().Sub(s.now()).Abs(), c.Error()
	if off > bound || bound > limit || c.Source() != Redis {
		t.Errorf("off by %v, tells an error of %v by source %q, want at most %v", off, bound, c.Source(), limit)
	}
}

func TestFollowsFromTheStart(t *testing.T) {
	s := &source{offset: -90 * time.Second, trip: 2 * time.Millisecond}
	followed(t, s, nil, func(t *testing.T, c *Clock, log *bytes.Buffer) {
		for range 100 {
			within(t, c, s, 4*time.Millisecond) // half a trip and 5 s of drift
			time.Sleep(time.Second)
		}
		if n := s.questions(); n < 20*8 || n > 21*8 {
			t.Errorf("%d questions in 101 s, want 8 every 5 s", n)
		}
		if log.Len() > 0 {
			t.Errorf("nothing happened, yet it says:\n%s", log)
		}
	})
}

// Without its source the clock runs on and tells a growing error. It hears of the
// return soon.
func TestSourceOfTheClockAway(t *testing.T) {
	for name, set := range map[string]func(s *source, away bool){
		"down": func(s *source, away bool) { s.down = away },
		"hung": func(s *source, away bool) { s.hung = away },
	} {
		t.Run(name, func(t *testing.T) {
			s := &source{offset: time.Hour, trip: time.Millisecond}
			followed(t, s, nil, func(t *testing.T, c *Clock, log *bytes.Buffer) {
				s.set(func(s *source) { set(s, true) })
				asked, before := s.questions(), c.Error()
				time.Sleep(15 * time.Minute)
				within(t, c, s, 460*time.Millisecond)
				if after := c.Error(); after < before+400*time.Millisecond {
					t.Errorf("the error is %v after 15 minutes, and was %v", after, before)
				}
				if n := s.questions() - asked; n < 600 || n > 900 {
					t.Errorf("%d questions in 15 minutes, want about one a second", n)
				}
				s.set(func(s *source) { set(s, false) })
				time.Sleep(2 * time.Second)
				within(t, c, s, 2*time.Millisecond)
				if strings.Count(log.String(), "\n") != 2 || strings.Count(log.String(), "level=WARN") != 1 {
					t.Errorf("want one line for the loss and one for the return:\n%s", log)
				}
			})
		})
	}
}

func TestSourceDownAtTheStart(t *testing.T) {
	s := &source{offset: time.Hour, trip: time.Millisecond, down: true}
	followed(t, s, nil, func(t *testing.T, c *Clock, _ *bytes.Buffer) {
		if c.Source() != Local {
			t.Errorf("goes by %q, which was never heard of", c.Source())
		}
		s.set(func(s *source) { s.down = false })
		time.Sleep(2 * time.Second)
		within(t, c, s, 2*time.Millisecond)
	})
}

// A failover to a machine with another clock is followed at the next measurement,
// and said once.
func TestClockOfTheSourceSteps(t *testing.T) {
	for _, step := range []time.Duration{20 * time.Millisecond, -20 * time.Millisecond, 5 * time.Minute, -5 * time.Minute} {
		s := &source{offset: time.Second, trip: time.Millisecond}
		followed(t, s, nil, func(t *testing.T, c *Clock, log *bytes.Buffer) {
			s.set(func(s *source) { s.offset += step })
			time.Sleep(30 * time.Second)
			within(t, c, s, 4*time.Millisecond)
			if strings.Count(log.String(), "another machine") != 1 {
				t.Errorf("step %v: want one line:\n%s", step, log)
			}
		})
	}
}

// A step is followed even if the new measurement is a poor one.
func TestClockOfASlowSourceSteps(t *testing.T) {
	s := &source{trip: time.Millisecond}
	followed(t, s, nil, func(t *testing.T, c *Clock, _ *bytes.Buffer) {
		s.set(func(s *source) { s.offset, s.trip = time.Minute, 200*time.Millisecond })
		time.Sleep(10 * time.Second)
		within(t, c, s, 110*time.Millisecond)
	})
}

// A source that became slow makes the clock no worse than none would.
func TestSlowSourceSpoilsAGoodMeasurement(t *testing.T) {
	s := &source{offset: time.Second, trip: time.Millisecond}
	followed(t, s, nil, func(t *testing.T, c *Clock, log *bytes.Buffer) {
		s.set(func(s *source) { s.trip = 200 * time.Millisecond })
		time.Sleep(time.Minute)
		within(t, c, s, 40*time.Millisecond) // a minute of drift
		time.Sleep(10 * time.Minute)
		within(t, c, s, 110*time.Millisecond) // by now half a trip is less
		if log.Len() > 0 {
			t.Errorf("nothing stepped, yet it says:\n%s", log)
		}
	})
}

// Two gateways whose own clocks are two seconds apart open a sale at one moment,
// within what they tell of their errors.
func TestTwoGatewaysTwoSecondsApart(t *testing.T) {
	s := &source{offset: 10 * time.Second, trip: 3 * time.Millisecond}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var clocks []*Clock
		for _, skew := range []time.Duration{0, 2 * time.Second} {
			now := func() time.Time { return time.Now().Add(skew) }
			c := New(now)
			clocks = append(clocks, c)
			go Follow(ctx, FollowOptions{Clock: c, Ask: s.ask, Now: now})
		}
		time.Sleep(time.Second)
		starts := s.now().Add(5 * time.Second)
		for range 10_000 {
			a, b := clocks[0], clocks[1]
			if apart := a.Now().Sub(b.Now()).Abs(); apart > a.Error()+b.Error() {
				t.Fatalf("%v apart, and tell errors of %v and %v", apart, a.Error(), b.Error())
			}
			for i, c := range clocks {
				if refused := c.Now().Add(c.Error()).Before(starts); refused && !s.now().Before(starts) {
					t.Fatalf("gateway %d refuses at %v, and the sale has started", i, s.now().Sub(starts))
				}
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		synctest.Wait()
	})
}
