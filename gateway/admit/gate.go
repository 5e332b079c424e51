// Package admit decides who may try to buy, and by which path: through the
// filter, or, while that is gone or stale, on the database alone. Whatever it
// decides, SQL decides every order; so it may be wrong, and never silent.
package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"rushgate/backend/api"
	"rushgate/gateway/catalogue"
	"rushgate/gateway/limit"
	"rushgate/lua"
)

// Request is one purchase, with strings of its own: nothing in it may alias the
// memory of an HTTP request.
type Request struct {
	Item   string
	User   string
	BizID  string
	Qty    int
	Repeat bool   // the client says that it has sent this key before
	Terms  *Terms // that were in force when the request came; nil: those of the Options
}

// Terms are what a purchase is promised when it begins; it keeps them to its end.
type Terms struct {
	ReseedWait time.Duration // how long a purchase waits for a reseed that is running
	Window     time.Duration // longest life of a ticket
}

// Numbers are what all purchases share, and what can change while they run.
type Numbers struct {
	Breaker BreakerOptions
	DBPath  DBPathLimit
	// Refuse bounds the repeats whose refusal is made final in SQL, or whose
	// outcome is looked up there; over it a repeat is told unknown_outcome. QPS 0
	// closes.
	Refuse limit.Rate
}

// Overloaded says: definitely not done; ask again after RetryAfter.
type Overloaded struct{ RetryAfter time.Duration }

func (*Overloaded) Error() string { return "overloaded" }

// ErrInProgress: the first request with this key is still under way, and the
// wait for it ended.
var ErrInProgress = errors.New("the first request with this key is still in progress")

// ErrNoSuchItem: the item is not in the catalogue.
var ErrNoSuchItem = errors.New("no such item")

// Orders is the backend, as far as this package needs it.
type Orders interface {
	Place(ctx context.Context, t api.Ticket) (api.Order, error)
	Refuse(ctx context.Context, t api.Ticket, code api.Code) (api.Order, error)
	Find(ctx context.Context, user, bizID string) (api.Order, error)
}

// Meter counts. Calls must not block.
type Meter interface {
	Verdict(string)       // of the filter on one request; "error" where it gave none
	Batch(size int)       // requests in one call of the filter
	Path(api.Path)        // of each ticket written
	Breaker(state string) // "closed", "open" or "half-open"
}

// Options of a Gate.
type Options struct {
	Filter    lua.Filter // nil: none, every purchase takes the DB path
	Orders    Orders
	Catalogue *catalogue.Catalogue
	Numbers
	Terms
	Timeout time.Duration // of one purchase, from here to its answer
	NowMS   func() int64  // the sale's clock, Unix milliseconds
	Now     func() time.Time
	Meter   Meter
}

// Gate is safe for concurrent use.
type Gate struct {
	opt     Options
	filter  *guarded // nil without a filter
	db      *dbPath
	refuse  *limit.Bucket
	flights flights
	lanes   atomic.Pointer[map[string]*lane] // of the catalogue's items; replaced by Follow, never changed
}

// New returns a Gate. Wire Follow to the catalogue's changes.
func New(opt Options) *Gate {
	g := &Gate{
		opt: opt, db: newDBPath(opt.DBPath), refuse: limit.NewBucket(opt.Refuse),
		flights: flights{byKey: make(map[key]*flight)},
	}
	if opt.Filter != nil {
		g.filter = guard(opt.Filter, opt.Breaker, opt.Meter, opt.Now)
	}
	g.lanes.Store(&map[string]*lane{})
	return g
}

// Set puts new numbers in force. Tokens, the purchases under way and the
// breaker's state stay what they are: a limit that moves hands out no burst, and
// an open breaker stays open.
func (g *Gate) Set(now time.Time, n *Numbers) {
	g.db.set(now, n.DBPath)
	g.refuse.Set(now, n.Refuse)
	if g.filter != nil {
		g.filter.set(n.Breaker)
	}
}

// Follow takes over a new catalogue: its epochs, its new items, and the end of
// those that are gone. One call at a time.
func (g *Gate) Follow(s *catalogue.Snapshot) {
	old := *g.lanes.Load()
	next := make(map[string]*lane, len(s.Sales))
	for i := range s.Sales {
		sale := &s.Sales[i]
		l := old[sale.Item]
		if l == nil {
			l = &lane{item: sale.Item, filter: g.filter, meter: g.opt.Meter, now: g.opt.Now}
		}
		l.learn(sale.Epoch)
		next[sale.Item] = l
	}
	g.lanes.Store(&next)
}

func (g *Gate) lane(item []byte) *lane { return (*g.lanes.Load())[string(item)] }

// SoldOut says whether a fresh mark refuses this request. It allocates nothing
// and asks nobody; user may be a mere claim, since all it opens is the way to
// the stages that check it. A repeat must not be asked about: it passes the mark.
func (g *Gate) SoldOut(item, user []byte, qty int) bool {
	l := g.lane(item)
	return l != nil && l.mark.soldOut(l.epoch.Load(), user, int64(qty), g.opt.Now())
}

// MarkedSoldOut says whether the item has nothing left, as far as this gateway
// knows, for its list of items.
func (g *Gate) MarkedSoldOut(item string) bool {
	return g.SoldOut([]byte(item), nil, 1)
}

// Buy takes a purchase to its answer: an order, or an error that is or wraps
// one of *api.Refusal, api.ErrMismatch, *Overloaded, ErrInProgress,
// ErrNoSuchItem, api.ErrFailed or api.ErrUnknown. It takes no longer than
// Options.Timeout and the bound of one call of the filter.
func (g *Gate) Buy(ctx context.Context, r Request) (o api.Order, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.opt.Timeout)
	defer cancel()
	k := key{r.User, r.BizID}
	f, joined := g.flights.enter(k, &r)
	if joined {
		return f.wait(ctx, &r)
	}
	// What those who joined are told, and soon, if the rest of this panics.
	err = api.ErrUnknown
	defer func() { g.flights.land(k, f, o, err) }()

	t := &try{g: g, r: &r, key: k, flight: f, lane: g.lane([]byte(r.Item)), terms: cmp.Or(r.Terms, &g.opt.Terms)}
	t.exp, _ = ctx.Deadline()
	o, err = t.buy(ctx)
	return o, named(err)
}

// named makes an error one of those that Buy names: behind any other there may
// be an order.
func named(err error) error {
	var refusal *api.Refusal
	var over *Overloaded
	switch {
	case err == nil, errors.As(err, &refusal), errors.As(err, &over), errors.Is(err, api.ErrMismatch),
		errors.Is(err, ErrNoSuchItem), errors.Is(err, api.ErrFailed), errors.Is(err, api.ErrUnknown):
		return err
	}
	return fmt.Errorf("%w: %w", api.ErrUnknown, err)
}
