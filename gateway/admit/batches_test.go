package admit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/lua"
)

// slow is a filter whose calls wait until they are let go.
type slow struct {
	mu    sync.Mutex
	calls []chan lua.Reply
	got   []lua.Batch
}

func (s *slow) filter() *filter {
	return &filter{admit: func(ctx context.Context, b lua.Batch) (lua.Reply, error) {
		reply := make(chan lua.Reply)
		s.mu.Lock()
		s.calls, s.got = append(s.calls, reply), append(s.got, b)
		s.mu.Unlock()
		select {
		case r, ok := <-reply:
			if !ok {
				return lua.Reply{}, errGone
			}
			return r, nil
		case <-ctx.Done():
			return lua.Reply{}, ctx.Err()
		}
	}}
}

// sizes are those of the batches so far, in order.
func (s *slow) sizes() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	words := make([]string, len(s.got))
	for i, b := range s.got {
		words[i] = strconv.Itoa(len(b.Requests))
	}
	return strings.Join(words, " ")
}

// answer lets call i go with verdicts of decide's, or with none of them.
func (s *slow) answer(i int, decide func(lua.Request) lua.Verdict) {
	s.mu.Lock()
	call, b := s.calls[i], s.got[i]
	s.mu.Unlock()
	if decide == nil {
		close(call)
		return
	}
	r := lua.Reply{Version: 1, Buyers: map[string]struct{}{}}
	for _, q := range b.Requests {
		r.Verdicts = append(r.Verdicts, decide(q))
	}
	call <- r
}

// byNumber admits users with an even number and has others wait for the start.
func byNumber(r lua.Request) lua.Verdict {
	if n, _ := strconv.Atoi(r.User); n%2 == 0 {
		return lua.Admitted
	}
	return lua.NotStarted
}

// patient is a filter's bound that no test reaches.
func patient(o *Options) { o.Breaker.SlowCall, o.Timeout = time.Hour, 2*time.Hour }

// asks sends n requests of users first, first+1, …; what they are told comes
// out of the channel.
func asks(ctx context.Context, l *lane, first, n int) <-chan error {
	wrong := make(chan error, n)
	for i := first; i < first+n; i++ {
		go func() {
			user := strconv.Itoa(i)
			said := l.admit(ctx, lua.Request{User: user, BizID: user, Qty: 1})
			switch want := byNumber(lua.Request{User: user}); {
			case said.err != nil:
				wrong <- said.err
			case said.verdict != want || said.epoch != 5:
				wrong <- fmt.Errorf("user %s was told %v at epoch %d, want %v at 5", user, said.verdict, said.epoch, want)
			default:
				wrong <- nil
			}
		}()
	}
	return wrong
}

func none(t *testing.T, n int, wrong <-chan error) {
	t.Helper()
	for range n {
		if err := <-wrong; err != nil {
			t.Fatal(err)
		}
	}
}

func TestIdleGatewayWaitsToFillABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		l := open(t, s.filter(), patient).lane([]byte("1"))
		var told []<-chan error
		for i := range inFlight {
			told = append(told, asks(t.Context(), l, i, 1))
			if got, want := s.sizes(), strings.TrimSpace(strings.Repeat("1 ", i+1)); got != want {
				t.Fatalf("after request %d: batches of %s, want %s", i+1, got, want)
			}
		}
		for i := range inFlight {
			s.answer(i, byNumber)
			none(t, 1, told[i])
		}
	})
}

func TestBusyGatewayCallsForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		l := open(t, s.filter(), patient).lane([]byte("1"))
		first := asks(t.Context(), l, 0, inFlight)
		s.sizes()
		rest := asks(t.Context(), l, inFlight, 600)
		if got := s.sizes(); got != "1 1 1" {
			t.Fatalf("while three are in flight: batches of %s", got)
		}
		// Each that comes back takes along what has collected, up to a bound.
		s.answer(1, byNumber)
		if got := s.sizes(); got != "1 1 1 256" {
			t.Fatalf("batches of %s", got)
		}
		if len(first) != 1 {
			t.Fatal("whoever ran the batch waits for the one that follows it")
		}
		s.answer(3, byNumber)
		s.sizes()
		s.answer(0, byNumber)
		if got := s.sizes(); got != "1 1 1 256 256 88" {
			t.Fatalf("batches of %s", got)
		}
		for _, i := range []int{5, 2, 4} {
			s.answer(i, byNumber)
		}
		none(t, inFlight, first)
		none(t, 600, rest)
		// Nobody is left in flight: the next goes out at once, alone.
		last := asks(t.Context(), l, 1000, 1)
		if got := s.sizes(); got != "1 1 1 256 256 88 1" {
			t.Fatalf("batches of %s", got)
		}
		s.answer(6, byNumber)
		none(t, 1, last)
	})
}

func TestFailedBatchForgetsItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		l := open(t, s.filter(), patient).lane([]byte("1"))
		first := asks(t.Context(), l, 0, inFlight)
		s.sizes()
		rest := asks(t.Context(), l, inFlight, 50)
		s.sizes()
		s.answer(0, nil) // the place of a batch that failed is passed on too
		s.sizes()
		for _, i := range []int{1, 2} {
			s.answer(i, byNumber)
		}
		s.answer(3, nil)
		for range 50 {
			if err := <-rest; !errors.Is(err, errGone) {
				t.Fatalf("a request of the failed batch was told %v", err)
			}
		}
		failed := 0
		for range inFlight {
			if <-first != nil {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d of the first three failed, want 1", failed)
		}
	})
}

// A caller who gives up while no batch has its request takes no units; one who
// gives up later keeps nobody waiting.
func TestCallerWhoGaveUpTakesUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		l := open(t, s.filter(), patient).lane([]byte("1"))
		first := asks(t.Context(), l, 0, inFlight)
		s.sizes()
		waits, stop := context.WithCancel(t.Context())
		gone := asks(waits, l, 100, 300)
		stays := asks(t.Context(), l, 400, 2)
		s.sizes()
		stop()
		for range 300 {
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Fatalf("who gave up was told %v", err)
			}
		}
		s.answer(0, byNumber)
		if got := s.sizes(); got != "1 1 1 2" {
			t.Fatalf("batches of %s: who gave up must not be asked for", got)
		}

		late, stopLate := context.WithCancel(t.Context())
		s.answer(1, byNumber) // a place is free: the next goes out with a caller
		s.sizes()
		leaving := asks(late, l, 500, 1)
		if got := s.sizes(); got != "1 1 1 2 1" {
			t.Fatalf("batches of %s", got)
		}
		stopLate()
		for _, i := range []int{2, 3, 4} {
			s.answer(i, byNumber)
		}
		none(t, inFlight, first)
		none(t, 2, stays)
		<-leaving // told something, whichever came first
	})
}

// All who wait have given up: nothing is sent for them, and the place is free.
func TestBatchOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		l := open(t, s.filter(), patient).lane([]byte("1"))
		first := asks(t.Context(), l, 0, inFlight)
		s.sizes()
		waits, stop := context.WithCancel(t.Context())
		gone := asks(waits, l, 100, 10)
		s.sizes()
		stop()
		for range 10 {
			<-gone
		}
		for i := range inFlight {
			s.answer(i, byNumber)
		}
		none(t, inFlight, first)
		if got := s.sizes(); got != "1 1 1" {
			t.Fatalf("batches of %s", got)
		}
		last := asks(t.Context(), l, 0, 1)
		s.sizes()
		s.answer(inFlight, byNumber)
		none(t, 1, last)
	})
}

// A filter that breaks its word is an error, and never the end of the lane.
func TestBrokenFilterStopsTheLane(t *testing.T) {
	one := []lua.Verdict{lua.Admitted}
	for name, admit := range map[string]func() lua.Reply{
		"panic":             func() lua.Reply { panic("a bug") },
		"no verdict":        func() lua.Reply { return lua.Reply{} },
		"one too many":      func() lua.Reply { return lua.Reply{Verdicts: append(one, one...)} },
		"verdict zero":      func() lua.Reply { return lua.Reply{Verdicts: []lua.Verdict{0}} },
		"verdict from afar": func() lua.Reply { return lua.Reply{Verdicts: []lua.Verdict{lua.Admitted + 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			broken := true
			f := &filter{admit: func(_ context.Context, b lua.Batch) (lua.Reply, error) {
				if broken {
					return admit(), nil
				}
				return says(lua.Admitted, b), nil
			}}
			x := open(t, f, nil)
			for i := range inFlight + 1 {
				if got := x.told(t, buys("u"+strconv.Itoa(i))); got != "order 9" {
					t.Fatalf("told %q, want an order by the DB path", got)
				}
			}
			broken = false
			if got := x.told(t, buys("u")); got != "order 9" || x.meter.of("path redis") != 1 || x.meter.of("verdict error") != inFlight+1 {
				t.Errorf("afterwards: told %q; %v", got, x.meter.counts)
			}
		})
	}
}
