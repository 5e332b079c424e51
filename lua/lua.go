// Package lua holds the admission filter: who may try to buy. It is a filter in
// front of SQL, never the truth: it may be wrong in either direction at any
// moment, and that costs an extra attempt or a short false "sold out", never a
// unit. One operation makes it right again: a new epoch, seeded from SQL.
//
// The decisions exist twice: as scripts that Redis runs atomically, and in Go
// as [Memory], which serves one process and is the scripts' model.
package lua

import (
	"context"
	"errors"
)

// Verdict is the filter's word on one request.
type Verdict uint8

// The order is the order of the checks, so that the first that holds is the
// answer.
const (
	Stale      Verdict = iota + 1 // the filter does not know this epoch: never "zero", never "unlimited"
	Again                         // (user, biz_id) is noted already, whatever window, pause and stock say
	NotStarted                    // before the window, by the filter's clock
	Ended                         // after the window, by the filter's clock
	Paused                        //
	Duplicate                     // this user has all that per_user allows; quantity counts
	SoldOut                       // fewer units left than asked for
	Admitted                      // units taken, buyer noted
)

var verdictNames = [...]string{"", "stale", "again", "not_started", "ended", "paused", "duplicate", "sold_out", "admitted"}

func (v Verdict) String() string { return verdictNames[v] }

// Request asks for units for one buyer.
type Request struct {
	User  string
	BizID string
	Qty   int
}

// Reply is what a batch was told.
type Reply struct {
	Verdicts []Verdict // one for each request, in order
	Left     int64     // units left after the batch; 0 where every verdict is Stale
	Now      int64     // the filter's clock, Unix milliseconds
	Version  int64     // raised by every change of the buyers
	// Buyers are the users noted, read together with the verdicts. It is nil
	// unless a verdict is SoldOut and Version differs from the one asked with,
	// and read-only: others may hold the same one.
	Buyers map[string]struct{}
}

// Batch is a set of requests for one item, decided in order and at once.
type Batch struct {
	Item     string
	Epoch    int64 // the caller's; another one here makes every verdict Stale
	Requests []Request
	Version  int64 // of the buyers that the caller already knows; 0 for none
}

// Note is what the filter keeps of one buyer.
type Note struct {
	Qty    int64    // units held
	BizIDs []string // the attempts that hold them
}

// Seed is a whole epoch, as read from SQL in one snapshot.
type Seed struct {
	Item     string
	Epoch    int64 // later than any before
	StartsAt int64 // Unix milliseconds
	EndsAt   int64
	PerUser  int64
	Paused   bool
	Stock    int64
	Buyers   map[string]Note
}

// View is the filter's knowledge of an item, for the audit and the repair rule.
type View struct {
	Epoch      int64 // 0: nothing known
	Stale      bool  // meta or a key is missing, or it was written under another origin
	Stock      int64
	Buyers     map[string]int64 // units by user; nil unless asked for
	AdmittedAt int64            // the last admission, Unix milliseconds; 0 for none in this epoch
	Version    int64            // raised by every change of the buyers
}

// Filter is an admission filter. Methods are safe for concurrent use and keep
// nothing of their arguments after they return. Every mutating call is
// idempotent: made twice, it changes nothing the second time. An error means
// that the call may or may not have been executed.
type Filter interface {
	// Admit decides a batch. Nothing is deducted before the duplicate check,
	// and all of a batch sees one moment of the filter's clock.
	Admit(ctx context.Context, b Batch) (Reply, error)
	// Restore gives a buyer's units back if the buyer is noted with that
	// biz_id; call it only after SQL has given them back. It reports whether
	// anything changed.
	Restore(ctx context.Context, item, user, bizID string, qty int64) (bool, error)
	// Seed opens an epoch, only forward: ErrOlder if the filter is at this
	// epoch or a later one. What was there of the old epoch is dropped.
	Seed(ctx context.Context, s Seed) error
	// View looks without changing anything; withBuyers reads the buyers too.
	View(ctx context.Context, item string, withBuyers bool) (View, error)
}

// ErrOlder is returned by Seed when the filter is already at that epoch or a later
// one: another seeder was faster.
var ErrOlder = errors.New("the filter is already at this epoch or a later one")
