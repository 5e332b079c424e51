package admit

import (
	"context"
	"sync"

	"rushgate/backend/api"
)

// key names a purchase attempt: a key of another user is another key.
type key struct{ user, bizID string }

// flight is one purchase attempt under way in this process. A request with the
// same key joins it instead of asking anew.
type flight struct {
	item  string
	qty   int
	done  chan struct{} // closed when order and err are set
	order api.Order
	err   error

	repeat bool // a request with this key was made before, or joined; under flights.mu
	sealed bool // gone from the table: nobody joins any more; under flights.mu
}

// flights are the attempts under way. Bounded by the requests under way.
type flights struct {
	mu    sync.Mutex
	byKey map[key]*flight
}

// enter joins the flight with this key, or starts one.
func (fs *flights) enter(k key, r *Request) (f *flight, joined bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f = fs.byKey[k]; f != nil {
		f.repeat = true
		return f, true
	}
	f = &flight{item: r.Item, qty: r.Qty, done: make(chan struct{}), repeat: r.Repeat}
	fs.byKey[k] = f
	return f, false
}

// seal asks whether anybody else knows this key, just before a refusal by the
// filter alone. If nobody does, none can join from here on, so that the answer
// "refused, nothing recorded" stays a first try's.
func (fs *flights) seal(k key, f *flight) (repeat bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !f.repeat {
		f.sealed = true
		delete(fs.byKey, k)
	}
	return f.repeat
}

// land gives everybody who joined the answer.
func (fs *flights) land(k key, f *flight, o api.Order, err error) {
	fs.mu.Lock()
	if !f.sealed {
		delete(fs.byKey, k)
	}
	fs.mu.Unlock()
	f.order, f.err = o, err
	close(f.done)
}

// wait is a joiner's side.
func (f *flight) wait(ctx context.Context, r *Request) (api.Order, error) {
	if f.item != r.Item || f.qty != r.Qty {
		return api.Order{}, api.ErrMismatch
	}
	select {
	case <-f.done:
		return f.order, f.err
	case <-ctx.Done():
		return api.Order{}, ErrInProgress
	}
}
