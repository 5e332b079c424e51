package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Defaults of ClientOptions.
const (
	DefaultTimeout     = 3 * time.Second
	DefaultDialTimeout = time.Second
	DefaultMaxConns    = 256
	// DefaultIdle is well under the minute for which the backend keeps an idle
	// connection. Whoever closes first must be the client: a request written
	// while the server closes has an unknown outcome.
	DefaultIdle = 5 * time.Second
)

const (
	maxOrderAnswer     = 64 << 10 // bytes
	maxCatalogueAnswer = 8 << 20  // bytes; a sale has about 250
)

// ClientOptions say where the orders are kept.
type ClientOptions struct {
	Servers []string      // host:port, spoken to in plain HTTP/1.1; at least one
	Keys    *Keys         // sign the tickets
	Timeout time.Duration // of a call, dialling included; 0: DefaultTimeout
	Prefix  string        // put before the contract's paths, such as "/internal"; "" for none

	DialTimeout time.Duration    // of one attempt; 0: DefaultDialTimeout
	MaxConns    int              // to each server; more calls than that wait for one; 0: DefaultMaxConns
	Idle        time.Duration    // an unused connection is closed after it; 0: DefaultIdle; shorter than the servers'
	Now         func() time.Time // nil: time.Now
}

// Client is [Orders] at the other end of HTTP. Safe for concurrent use.
//
// A call goes to the server with the fewest calls in flight. A server that can't
// be dialled has been sent nothing: it is left alone for a second and the call
// goes to the next. Once a byte may have been sent, a call is never sent again,
// to whatever server: any end of it but an answer of the contract is ErrUnknown
// for Place, Refuse, Pay and Cancel, and ErrFailed for the others.
type Client struct {
	servers []*server
	keys    *Keys
	timeout time.Duration
	prefix  string
	now     func() time.Time
	turn    atomic.Uint32 // where the next choice among equals starts
	closed  atomic.Bool
}

var _ Orders = (*Client)(nil)

// NewClient returns a Client; it dials nothing yet. Close it after the last
// call.
func NewClient(opt ClientOptions) (*Client, error) {
	if err := opt.check(); err != nil {
		return nil, fmt.Errorf("client of the backend: %w", err)
	}
	opt.Timeout = cmp.Or(opt.Timeout, DefaultTimeout)
	opt.DialTimeout = cmp.Or(opt.DialTimeout, DefaultDialTimeout)
	opt.MaxConns = cmp.Or(opt.MaxConns, DefaultMaxConns)
	opt.Idle = cmp.Or(opt.Idle, DefaultIdle)
	c := &Client{keys: opt.Keys, timeout: opt.Timeout, prefix: opt.Prefix, now: opt.Now}
	if c.now == nil {
		c.now = time.Now
	}
	for _, addr := range opt.Servers {
		c.servers = append(c.servers, newServer(addr, opt))
	}
	return c, nil
}

func (opt *ClientOptions) check() error {
	if len(opt.Servers) == 0 {
		return errors.New("no servers: name at least one host:port")
	}
	for _, addr := range opt.Servers {
		if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" || strings.ContainsAny(addr, ", /@") {
			return fmt.Errorf("server %q: want host:port", addr)
		}
	}
	switch {
	case opt.Keys == nil:
		return errors.New("no keys: the backend takes signed tickets only")
	case opt.Timeout < 0 || opt.DialTimeout < 0 || opt.Idle < 0 || opt.MaxConns < 0:
		return errors.New("a timeout or bound is negative")
	case opt.Prefix != "" && (opt.Prefix[0] != '/' || strings.HasSuffix(opt.Prefix, "/") || strings.ContainsAny(opt.Prefix, "?# \r\n")):
		return fmt.Errorf("prefix %q: want a path that starts with a slash and doesn't end with one", opt.Prefix)
	}
	return nil
}

// Close closes the idle connections; calls in flight end as they would have,
// within their timeout. A later call is ErrFailed.
func (c *Client) Close() {
	c.closed.Store(true)
	for _, s := range c.servers {
		s.close()
	}
}

// Place implements [Orders].
func (c *Client) Place(ctx context.Context, t Ticket) (Order, error) {
	if t.Path == PathRefuse {
		return Order{}, fmt.Errorf("place: a ticket of path refuse: %w", ErrFailed)
	}
	return c.hand(ctx, "place", PathOrders, t, OrderBody{Qty: t.Qty})
}

// Refuse implements [Orders].
func (c *Client) Refuse(ctx context.Context, t Ticket, code Code) (Order, error) {
	if t.Path != PathRefuse || !code.Final() {
		return Order{}, fmt.Errorf("refuse: path %q, code %q: want path refuse and a final code: %w", t.Path, code, ErrFailed)
	}
	return c.hand(ctx, "refuse", PathRefusals, t, RefuseBody{Qty: t.Qty, Code: code})
}

// hand sends a ticket.
func (c *Client) hand(ctx context.Context, op, path string, t Ticket, body any) (Order, error) {
	if err := t.validate(); err != nil {
		return Order{}, fmt.Errorf("%s: %w: %w", op, err, ErrFailed)
	}
	return c.order(ctx, question{
		op: op, method: http.MethodPost, target: path, writes: true,
		ticket: c.keys.Sign(t), body: encode(body), want: http.StatusCreated,
	}, func(o *Order) bool {
		return o.Item == t.Item && o.User == t.User && o.BizID == t.BizID && o.Qty == t.Qty && o.placed()
	})
}

// Find implements [Orders].
func (c *Client) Find(ctx context.Context, user, bizID string) (Order, error) {
	if !ValidID(user) || !ValidID(bizID) {
		return Order{}, ErrNotFound // no ticket could carry it, so nothing is recorded under it
	}
	query := url.Values{"user": {user}, "biz_id": {bizID}}
	return c.order(ctx, question{
		op: "find", method: http.MethodGet, target: PathOrders + "?" + query.Encode(), want: http.StatusOK,
	}, func(o *Order) bool {
		return o.User == user && o.BizID == bizID && (o.placed() || o.State == StateRefused && o.Code.known())
	})
}

// Get implements [Orders].
func (c *Client) Get(ctx context.Context, user, orderID string) (Order, error) {
	if !ValidID(user) || !ValidOrderID(orderID) {
		return Order{}, ErrNotFound
	}
	query := url.Values{"user": {user}}
	return c.order(ctx, question{
		op: "get", method: http.MethodGet, target: PathOrders + "/" + orderID + "?" + query.Encode(), want: http.StatusOK,
	}, isOrder(user, orderID))
}

// Pay implements [Orders].
func (c *Client) Pay(ctx context.Context, user, orderID string) (Order, error) {
	return c.move(ctx, "pay", user, orderID)
}

// Cancel implements [Orders].
func (c *Client) Cancel(ctx context.Context, user, orderID string) (Order, error) {
	return c.move(ctx, "cancel", user, orderID)
}

func (c *Client) move(ctx context.Context, op, user, orderID string) (Order, error) {
	if !ValidID(user) || !ValidOrderID(orderID) {
		return Order{}, ErrNotFound
	}
	return c.order(ctx, question{
		op: op, method: http.MethodPost, target: PathOrders + "/" + orderID + "/" + op, writes: true,
		body: encode(UserBody{User: user}), want: http.StatusOK,
	}, isOrder(user, orderID))
}

// Catalogue implements [Orders]. The ETag is the header as it came, quotes
// included.
func (c *Client) Catalogue(ctx context.Context, etag string) (Catalogue, error) {
	q := question{op: "catalogue", method: http.MethodGet, target: PathCatalogue, etag: etag, want: http.StatusOK, limit: maxCatalogueAnswer}
	a, err := c.ask(ctx, q)
	if err != nil {
		return Catalogue{}, err
	}
	return q.catalogue(a)
}

// order asks for one order; fits says that an answer is about what was asked.
func (c *Client) order(ctx context.Context, q question, fits func(*Order) bool) (Order, error) {
	q.limit = maxOrderAnswer
	a, err := c.ask(ctx, q)
	if err != nil {
		return Order{}, err
	}
	return q.order(a, fits)
}

func isOrder(user, orderID string) func(*Order) bool {
	return func(o *Order) bool { return o.User == user && o.OrderID == orderID && o.placed() }
}

// placed says that o is an order and no recorded refusal.
func (o *Order) placed() bool {
	return ValidOrderID(o.OrderID) && o.State.known() && o.State != StateRefused
}

// encode returns the JSON of a request's body: strings and numbers, which
// always encode.
func encode(body any) []byte {
	text, _ := json.Marshal(body)
	return text
}
