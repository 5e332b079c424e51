package limit

import (
	"context"
	"time"
)

// Ledger keeps the accounts of buckets that several gateways share: for each key
// and rate one token bucket, which is full when it is first heard of. A key that is
// asked for at another rate is another account, since a bucket's state says
// nothing under a rate that it wasn't counted by.
//
// Every method returns when ctx ends at the latest. An error says that the ledger
// may or may not have done what it was asked. Methods are safe for concurrent use.
// The rates are never closed, and n is 1 to the Burst.
type Ledger interface {
	// Take takes n tokens, all or none. If there are fewer, retryAfter is how long
	// until there are n, provided that nobody else takes any; 0 when ok.
	Take(ctx context.Context, key string, r Rate, n int) (ok bool, retryAfter time.Duration, err error)
	// Return gives back n tokens that were taken. What doesn't fit is dropped.
	Return(ctx context.Context, key string, r Rate, n int) error
	// Empty takes all that is there, fractions of a token too.
	Empty(ctx context.Context, key string, r Rate) error
}
