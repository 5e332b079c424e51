// Package api is the wire contract between a gateway and whatever keeps the
// orders: Rushgate's own backend, or a shop's order service in its place. It
// holds the nouns, the signed ticket, the Go interface and its HTTP client, and
// imports nothing of ours.
//
// Three ends are kept apart everywhere. Refused is an answer. Failed was
// definitely not done and may be tried again. Unknown may have been done: ask
// again with the same user and biz_id and get the truth.
package api

import (
	"context"
	"errors"
	"fmt"
)

// Path says how a purchase was admitted, which decides what the backend still
// has to check.
type Path string

const (
	PathRedis  Path = "redis"  // admitted by the filter under the ticket's epoch, which must still hold
	PathDB     Path = "db"     // not seen by the filter: window, pause, quota and units are decided in SQL
	PathQueue  Path = "queue"  // from the stream of an async sale: tied to no epoch
	PathRefuse Path = "refuse" // makes a refusal final; never becomes an order
)

// Code is a stable word for a refusal, the same in SQL, on the wire and in the
// answer to the buyer.
type Code string

const (
	SoldOut    Code = "sold_out"
	Duplicate  Code = "duplicate"
	Ended      Code = "ended"
	NotStarted Code = "not_started"
	Paused     Code = "paused"
	OrderState Code = "order_state" // pay or cancel met an order in another state
	Failed     Code = "order_failed"
)

// Final says that a refusal with this code, once given, is given for ever for
// its (user, biz_id): it is recorded in SQL and no copy of the request can
// become an order afterwards. The others say: ask again.
func (c Code) Final() bool {
	return c == SoldOut || c == Duplicate || c == Ended || c == Failed
}

// State is where an order stands.
type State string

const (
	StateCreated   State = "created"   // units taken, unpaid
	StatePaid      State = "paid"      //
	StateCancelled State = "cancelled" // by the buyer; units given back
	StateExpired   State = "expired"   // not paid in time; units given back
	StateRefused   State = "refused"   // a recorded refusal; never had units
)

// Active says that an order in this state holds units.
func (s State) Active() bool { return s == StateCreated || s == StatePaid }

// Order is one outcome: an order, or a recorded refusal (State refused, Code
// set, OrderID and the money fields empty). Times are Unix milliseconds.
type Order struct {
	OrderID     string `json:"order_id,omitempty"`
	BizID       string `json:"biz_id"`
	Item        string `json:"item"`
	User        string `json:"user"`
	Qty         int    `json:"qty"`
	AmountCents int64  `json:"amount_cents,omitempty"`
	State       State  `json:"state"`
	Code        Code   `json:"code,omitempty"`
	CreatedAt   int64  `json:"created_at,omitempty"`
	PayBy       int64  `json:"pay_by,omitempty"`
}

// Ticket hands one admitted request to the backend. It is good until Exp (Unix
// milliseconds), by the backend's clock.
type Ticket struct {
	Item  string `json:"item"`
	User  string `json:"user"`
	BizID string `json:"biz_id"`
	Qty   int    `json:"qty"`
	Epoch int64  `json:"epoch"`
	Path  Path   `json:"path"`
	Exp   int64  `json:"exp"`
}

// Sale is one line of the catalogue. Times are Unix milliseconds.
type Sale struct {
	Item        string `json:"item"`
	Epoch       int64  `json:"epoch"`
	ReseedUntil int64  `json:"reseed_until"` // ahead of now: a reseed is running
	Title       string `json:"title"`
	PriceCents  int64  `json:"price_cents"`
	StartsAt    int64  `json:"starts_at"`
	EndsAt      int64  `json:"ends_at"`
	State       string `json:"state"` // "open", "paused" or "sold_out"; the window is the reader's to apply
	PerUser     int    `json:"per_user"`
	Mode        string `json:"mode"` // "sync" or "async"
}

// Sale states as the catalogue tells them, and as buyers see them.
const (
	SaleUpcoming = "upcoming"
	SaleOpen     = "open"
	SalePaused   = "paused"
	SaleSoldOut  = "sold_out"
	SaleEnded    = "ended"
)

// Catalogue is every sale that is not long over.
type Catalogue struct {
	Now   int64  `json:"now"` // the database's clock, Unix milliseconds
	Sales []Sale `json:"sales"`
	ETag  string `json:"-"` // changes when Sales does; compare for equality only
}

// Orders is a service that keeps orders. All methods are safe for concurrent
// use, keep nothing of their arguments, and return within the deadline of ctx.
//
// A nil error is an order. Otherwise the error is, or wraps, one of *Refusal,
// *Stale, ErrMismatch, ErrNotFound, ErrFailed or ErrUnknown; an error that is none
// of them counts as unknown.
type Orders interface {
	// Place makes the order that the ticket allows, or returns the outcome that
	// is there already for (user, biz_id).
	Place(ctx context.Context, t Ticket) (Order, error)
	// Refuse records the refusal code for (user, biz_id) unless an outcome is
	// there, and returns the outcome that is there then: an order, or a
	// *Refusal. The ticket's path is PathRefuse.
	Refuse(ctx context.Context, t Ticket, code Code) (Order, error)
	// Find returns the outcome of (user, biz_id); a recorded refusal is an
	// Order in StateRefused here, with a nil error.
	Find(ctx context.Context, user, bizID string) (Order, error)
	// Get returns an order of this user by its number.
	Get(ctx context.Context, user, orderID string) (Order, error)
	// Pay and Cancel move an order from created; a *Refusal with code
	// order_state and the order's State says why they could not.
	Pay(ctx context.Context, user, orderID string) (Order, error)
	Cancel(ctx context.Context, user, orderID string) (Order, error)
	// Catalogue returns ErrNotModified if etag is still current.
	Catalogue(ctx context.Context, etag string) (Catalogue, error)
}

// Refusal is a definite no.
type Refusal struct {
	Code  Code   `json:"code"`
	Left  *int64 `json:"left,omitempty"`  // sold_out decided just now: units left, fewer than asked for; nil for a recorded refusal
	State State  `json:"state,omitempty"` // order_state: where the order stands
}

func (r *Refusal) Error() string { return "refused: " + string(r.Code) }

// Stale says that the ticket's epoch is over: nothing was done; admit again
// under Epoch.
type Stale struct {
	Epoch       int64 `json:"epoch"`
	ReseedUntil int64 `json:"reseed_until"` // Unix milliseconds by the database's clock
}

func (s *Stale) Error() string { return fmt.Sprintf("stale: the sale is at epoch %d", s.Epoch) }

var (
	// ErrMismatch: this user used this biz_id for another item or quantity.
	ErrMismatch = errors.New("the key was used for another item or quantity")
	// ErrNotFound: no such order, or no outcome yet, or another user's.
	ErrNotFound = errors.New("no such order")
	// ErrFailed: definitely not done; trying again is safe and may help.
	ErrFailed = errors.New("not done")
	// ErrUnreachable: definitely not done, and no server answers: it wraps
	// ErrFailed.
	ErrUnreachable = fmt.Errorf("no backend reachable: %w", ErrFailed)
	// ErrUnknown: may have been done; Find, or Place with the same biz_id, tells.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNotModified: the catalogue is as the ETag says.
	ErrNotModified = errors.New("catalogue not modified")
)
