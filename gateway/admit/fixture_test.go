package admit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/backend/api"
	"rushgate/gateway/catalogue"
	"rushgate/gateway/limit"
	"rushgate/lua"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// filter answers as it is told to.
type filter struct {
	lua.Filter // what is not scripted is not called
	admit      func(context.Context, lua.Batch) (lua.Reply, error)
	view       func() (lua.View, error) // nil: nothing is known
	views      atomic.Int64
}

func (f *filter) Admit(ctx context.Context, b lua.Batch) (lua.Reply, error) { return f.admit(ctx, b) }

func (f *filter) View(context.Context, string, bool) (lua.View, error) {
	f.views.Add(1)
	if f.view == nil {
		return lua.View{Stale: true}, nil
	}
	return f.view()
}

// says is one verdict on everything, on version 1 of the buyers, of whom there
// are none.
func says(v lua.Verdict, b lua.Batch) lua.Reply {
	r := lua.Reply{Verdicts: make([]lua.Verdict, len(b.Requests)), Version: 1}
	for i := range r.Verdicts {
		r.Verdicts[i] = v
	}
	if v == lua.SoldOut && b.Version != r.Version {
		r.Buyers = map[string]struct{}{}
	}
	return r
}

// always is a filter that has one word for everybody.
func always(v lua.Verdict) *filter {
	return &filter{admit: func(_ context.Context, b lua.Batch) (lua.Reply, error) { return says(v, b), nil }}
}

var errGone = errors.New("connection refused")

func gone() *filter {
	return &filter{admit: func(context.Context, lua.Batch) (lua.Reply, error) { return lua.Reply{}, errGone }}
}

// orders is a backend that notes what it is asked and answers as it is told to.
type orders struct {
	mu    sync.Mutex
	calls []string

	place  func(context.Context, api.Ticket) (api.Order, error) // nil: an order
	refuse func(api.Ticket, api.Code) (api.Order, error)        // nil: refused with that code
	find   func() (api.Order, error)                            // nil: not found
}

func (o *orders) note(call string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, call)
}

// asked returns the calls so far, in order.
func (o *orders) asked() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.calls...)
}

func (o *orders) Place(ctx context.Context, t api.Ticket) (api.Order, error) {
	o.note(fmt.Sprintf("place %s %d", t.Path, t.Epoch))
	if o.place == nil {
		return made(t), nil
	}
	return o.place(ctx, t)
}

func (o *orders) Refuse(_ context.Context, t api.Ticket, code api.Code) (api.Order, error) {
	o.note(fmt.Sprintf("%s %s %d", t.Path, code, t.Epoch))
	if o.refuse == nil {
		return api.Order{}, &api.Refusal{Code: code}
	}
	return o.refuse(t, code)
}

func (o *orders) Find(context.Context, string, string) (api.Order, error) {
	o.note("find")
	if o.find == nil {
		return api.Order{}, api.ErrNotFound
	}
	return o.find()
}

// made is the order that a ticket asks for.
func made(t api.Ticket) api.Order {
	return api.Order{OrderID: "9", BizID: t.BizID, Item: t.Item, User: t.User, Qty: t.Qty, State: api.StateCreated}
}

// source is a backend's catalogue.
type source struct {
	mu    sync.Mutex
	tag   int
	sales []api.Sale
	err   error
	asked int
	hook  func(asked int) // called first, without the lock
}

func (s *source) Catalogue(_ context.Context, etag string) (api.Catalogue, error) {
	s.mu.Lock()
	s.asked++
	asked, hook := s.asked, s.hook
	s.mu.Unlock()
	if hook != nil {
		hook(asked)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch tag := strconv.Itoa(s.tag); {
	case s.err != nil:
		return api.Catalogue{}, s.err
	case tag == etag:
		return api.Catalogue{}, api.ErrNotModified
	default:
		return api.Catalogue{Sales: append([]api.Sale(nil), s.sales...), ETag: tag}, nil
	}
}

// sell changes the one sale there is.
func (s *source) sell(epoch, reseedUntil int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tag++
	s.sales = []api.Sale{{Item: "1", Epoch: epoch, ReseedUntil: reseedUntil, State: api.SaleOpen, PerUser: 1, EndsAt: time.Now().Add(time.Hour).UnixMilli()}}
}

// meter counts.
type meter struct {
	mu     sync.Mutex
	counts map[string]int
	states []string
}

func (m *meter) count(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what]++
}

func (m *meter) of(what string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[what]
}

func (m *meter) Verdict(v string) { m.count("verdict " + v) }
func (m *meter) Batch(size int)   { m.count("batch " + strconv.Itoa(size)) }
func (m *meter) Path(p api.Path)  { m.count("path " + string(p)) }
func (m *meter) Breaker(state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states = append(m.states, state)
}

// fixture is a gate with everything round it scripted. It sells item 1 at epoch 5.
type fixture struct {
	*Gate
	orders *orders
	source *source
	meter  *meter
}

// open returns a gate over f, nil for none, after change.
func open(t *testing.T, f lua.Filter, change func(*Options)) *fixture {
	t.Helper()
	x := &fixture{orders: &orders{}, source: &source{}, meter: &meter{counts: map[string]int{}}}
	x.source.sell(5, 0)
	c := catalogue.New(catalogue.Options{
		Source: x.source, Timeout: time.Second, Log: slog.New(slog.DiscardHandler),
		Changed: func(s *catalogue.Snapshot) { x.Follow(s) },
	})
	o := Options{
		Filter: f, Orders: x.orders, Catalogue: c, Meter: x.meter,
		Numbers: Numbers{
			Breaker: BreakerOptions{Window: 10 * time.Second, MinRequests: 20, FailureRatio: 0.5, SlowCall: 200 * time.Millisecond, OpenFor: 5 * time.Second},
			DBPath:  DBPathLimit{QPS: 1e6, Concurrency: 1000},
			Refuse:  limit.Rate{QPS: 1e6, Burst: 1e6},
		},
		Terms:   Terms{ReseedWait: 500 * time.Millisecond, Window: 30 * time.Second},
		Timeout: 3 * time.Second,
		NowMS:   func() int64 { return time.Now().UnixMilli() }, Now: time.Now,
	}
	if change != nil {
		change(&o)
	}
	x.Gate = New(o)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x
}

// buys is a first try of one unit by a user, under a key that is the user's name.
func buys(user string) Request { return Request{Item: "1", User: user, BizID: user, Qty: 1} }

func again(r Request) Request {
	r.Repeat = true
	return r
}

// told is what Buy answered, in a word or two.
func (x *fixture) told(t *testing.T, r Request) string {
	t.Helper()
	return word(x.Buy(t.Context(), r))
}

func word(o api.Order, err error) string {
	var refusal *api.Refusal
	var over *Overloaded
	switch {
	case err == nil:
		return "order " + o.OrderID
	case errors.Is(err, api.ErrUnknown):
		return "unknown"
	case errors.As(err, &refusal):
		return "refused " + string(refusal.Code)
	case errors.As(err, &over):
		return "overloaded"
	case errors.Is(err, api.ErrMismatch):
		return "mismatch"
	case errors.Is(err, api.ErrFailed):
		return "failed"
	case errors.Is(err, ErrInProgress):
		return "in progress"
	case errors.Is(err, ErrNoSuchItem):
		return "no such item"
	}
	return "not an answer of Buy: " + err.Error()
}
