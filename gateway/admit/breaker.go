package admit

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// BreakerOptions say when the filter is given up on, and for how long.
type BreakerOptions struct {
	Window       time.Duration // over which calls are counted
	MinRequests  int           // fewer calls in the window never open it
	FailureRatio float64
	SlowCall     time.Duration // the bound of one call; past it the call counts as failed
	OpenFor      time.Duration
}

// trips says whether so many calls, of which so many failed, open the breaker.
func (o *BreakerOptions) trips(calls, failed uint32) bool {
	return int64(calls) >= int64(o.MinRequests) && float64(failed) >= o.FailureRatio*float64(calls)
}

// buckets is how finely the window rolls.
const buckets = 10

// breaker is a circuit breaker whose options may change while it runs.
//
// The machine inside is gobreaker's, whose options are fixed: it counts, trips,
// and lets one probe at a time through. Its own time of being open is next to
// nothing; how long the breaker stays open is decided here, from the moment it
// opened and the options of today. So only another window needs another machine.
type breaker struct {
	options atomic.Pointer[BreakerOptions]
	machine atomic.Pointer[machine]
	report  func(state string) // of each change, in order; called under mu
	now     func() time.Time

	mu     sync.Mutex
	state  gobreaker.State           // that was reported last
	opened atomic.Pointer[time.Time] // when; nil unless open. Changed under mu
}

// errTrip opens a machine that is not live.
var errTrip = errors.New("opened by hand")

// machine is one gobreaker.
type machine struct {
	*gobreaker.CircuitBreaker[struct{}]
	window time.Duration
	live   atomic.Bool // before that it trips at any failure, and nobody hears of it
}

func newBreaker(o BreakerOptions, report func(string), now func() time.Time) *breaker {
	b := &breaker{report: report, now: now}
	b.options.Store(&o)
	m := b.newMachine(o.Window)
	m.live.Store(true)
	b.machine.Store(m)
	report(gobreaker.StateClosed.String())
	return b
}

func (b *breaker) newMachine(window time.Duration) *machine {
	m := &machine{window: window}
	m.CircuitBreaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1, // probes at a time while half open
		Interval:     window,
		BucketPeriod: max(window/buckets, 1),
		Timeout:      1,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return !m.live.Load() || b.options.Load().trips(c.Requests, c.TotalFailures)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errOpen) },
		// Runs under the machine's mutex: it must not ask the machine anything.
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if m.live.Load() {
				b.moved(m, to)
			}
		},
	})
	return m
}

// errOpen is told to who came while the breaker is open. It is no call's outcome.
var errOpen = errors.New("the filter is given up on for now")

// run makes one call, which is told its bound, or says why not.
func (b *breaker) run(call func(bound time.Duration) error) error {
	_, err := b.machine.Load().Execute(func() (_ struct{}, err error) {
		if b.stillOpen() { // asked in here, so that nobody slips by while it opens
			return struct{}{}, errOpen
		}
		return struct{}{}, call(b.options.Load().SlowCall)
	})
	return err
}

// stillOpen says whether the breaker is open and its time is not over. The first
// to find it over makes it half open.
func (b *breaker) stillOpen() bool {
	at := b.opened.Load()
	if at == nil {
		return false
	}
	// A clock that was set back must not keep it open: then it is over.
	if since := b.now().Sub(*at); since >= 0 && since < b.options.Load().OpenFor {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened.CompareAndSwap(at, nil) {
		b.change(gobreaker.StateHalfOpen)
	}
	return false
}

// moved takes a change of the machine over. What an old one still hears from
// calls under way changes nothing.
func (b *breaker) moved(m *machine, to gobreaker.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m != b.machine.Load() || to == gobreaker.StateHalfOpen { // which stillOpen decides
		return
	}
	if to == gobreaker.StateOpen {
		at := b.now()
		b.opened.Store(&at)
	}
	b.change(to)
}

// change needs mu.
func (b *breaker) change(to gobreaker.State) {
	b.state = to
	b.report(to.String())
}

// set changes the options from now on. An open breaker stays open until OpenFor
// after it opened. Another window starts to count anew; the state stays, and a
// half-open breaker sends another probe.
func (b *breaker) set(o BreakerOptions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.options.Store(&o)
	if b.machine.Load().window == o.Window {
		return
	}
	m := b.newMachine(o.Window)
	if b.state != gobreaker.StateClosed {
		_, _ = m.Execute(func() (struct{}, error) { return struct{}{}, errTrip })
	}
	m.live.Store(true)
	b.machine.Store(m)
}
