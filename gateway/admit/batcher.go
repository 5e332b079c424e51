package admit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"rushgate/lua"
)

const (
	// inFlight is how many batches of one item are under way at a time. While
	// they are, the next collects, without a timer: an idle gateway adds no
	// delay and a busy one makes large batches. With a single one, four
	// concurrent requests would wait for each other's round trips.
	inFlight = 3
	// maxBatch bounds one script run, during which Redis serves nobody else.
	maxBatch = 256
)

// lane is one item's way into the filter. Safe for concurrent use.
type lane struct {
	item   string
	filter *guarded // nil without a filter
	meter  Meter
	now    func() time.Time

	epoch   atomic.Int64 // the latest heard of
	mark    markBox
	marking atomic.Bool // someone sets the mark that SQL called for

	mu      sync.Mutex
	waiting []*ask // somebody only while inFlight batches run: each takes the next along
	running int
}

// ask is one request waiting for its verdict.
type ask struct {
	request lua.Request
	taken   atomic.Bool // by a batch, or by its own caller who gave up before that
	done    chan told   // buffered: a batch never waits for a caller who gave up
}

// told is the verdict on one request.
type told struct {
	verdict lua.Verdict
	epoch   int64 // under which it was given
	err     error // the filter may or may not have taken the request
}

// learn moves the lane to an epoch, only forward.
func (l *lane) learn(epoch int64) {
	for {
		old := l.epoch.Load()
		if epoch <= old || l.epoch.CompareAndSwap(old, epoch) {
			return
		}
	}
}

// admit brings one request into a batch and waits for its verdict, or for ctx.
func (l *lane) admit(ctx context.Context, r lua.Request) told {
	a := &ask{request: r, done: make(chan told, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, a)
	batch := l.next()
	l.mu.Unlock()
	if batch != nil {
		// The caller's own goroutine runs the batch it completes: no wake-up
		// between an idle gateway and the filter.
		l.run(batch)
	}
	select {
	case t := <-a.done:
		return t
	case <-ctx.Done():
		// Where no batch has it yet, none will: no units for nobody.
		a.taken.Store(true)
		return told{err: ctx.Err()}
	}
}

// next takes a batch of those who still wait, if another may run; nil for none.
// The caller holds mu.
func (l *lane) next() []*ask {
	if l.running >= inFlight {
		return nil
	}
	batch := make([]*ask, 0, min(len(l.waiting), maxBatch))
	n := 0
	for ; n < len(l.waiting) && len(batch) < maxBatch; n++ {
		if a := l.waiting[n]; a.taken.CompareAndSwap(false, true) {
			batch = append(batch, a)
		}
	}
	clear(l.waiting[:n]) // their callers are answered long before the array is full
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	if len(batch) == 0 {
		return nil
	}
	l.running++
	return batch
}

// run sends one batch, hands out the verdicts, and passes the place on to what
// has collected meanwhile.
func (l *lane) run(batch []*ask) {
	l.exchange(batch)
	l.mu.Lock()
	l.running--
	more := l.next()
	l.mu.Unlock()
	if more != nil {
		go l.run(more) // this goroutine's own request has its verdict: don't keep it
	}
}

func (l *lane) exchange(batch []*ask) {
	epoch := l.epoch.Load()
	b := lua.Batch{Item: l.item, Epoch: epoch, Requests: make([]lua.Request, len(batch)), Version: l.mark.version(epoch)}
	for i, a := range batch {
		b.Requests[i] = a.request
	}
	l.meter.Batch(len(batch))
	asked := l.now()
	reply, err := l.filter.admit(context.Background(), b)
	if err != nil {
		for _, a := range batch {
			l.meter.Verdict("error")
			a.done <- told{err: err}
		}
		return
	}
	l.mark.observe(b.Epoch, &reply, asked)
	for i, a := range batch {
		l.meter.Verdict(reply.Verdicts[i].String())
		a.done <- told{verdict: reply.Verdicts[i], epoch: b.Epoch}
	}
}
