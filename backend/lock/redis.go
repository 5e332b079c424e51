package lock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// Client runs scripts on the primary of a Redis, and listens; any client of go-redis
// is one. It must observe the deadline of a context (ContextTimeoutEnabled), and
// should send nothing a second time (MaxRetries: -1). Its user needs the key and
// channel pattern rg:*.
type Client interface {
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// RedisOptions are what a [Redis] is made of. Only Client must be set; 0 or less
// means the default.
type RedisOptions struct {
	Client Client // the caller's to close, after the last unlock

	// TTL is how long Redis keeps a lock whose holder is gone: 10 s. One that is
	// held is renewed three times as often. Whole milliseconds; a few times Timeout,
	// so that a renewal may fail and be tried again.
	TTL time.Duration
	// MaxHold is how long a lock is renewed at most: 5 min.
	MaxHold time.Duration
	// Timeout bounds one call: 250 ms. A Redis that is slower counts as down.
	Timeout time.Duration
	// Poll is how often a waiter looks, give or take a half, in case nobody tells
	// it: 100 ms.
	Poll time.Duration
	// Subscriptions is how many keys are listened for at once, each over a
	// connection: 64. Who waits for one more has only the poll.
	Subscriptions int

	Metrics *Metrics // nil: kept, but registered nowhere

	Now    func() time.Time // with a monotonic reading; nil: time.Now
	Chance func() float64   // in [0, 1), for the jitter of the poll; nil: rand.Float64
}

// Redis is a lock in a Redis that many processes share. It is safe for concurrent use.
//
// Within a process the callers who want the same key queue up, and only the first of
// them contends in Redis, so a release wakes one caller per process however many wait.
// The queue isn't fair between processes: the first whose try arrives has the lock.
//
// A lock is a key that holds a random token and expires. Its holder counts on it for
// one TTL from the moment before the request that Redis said yes to was sent, by the
// monotonic clock, so neither a slow reply nor a wall clock that is set makes it count
// on more than Redis keeps. (A clock that stands still with its machine, as that of a
// virtual one that was suspended, does.)
type Redis struct {
	opt     RedisOptions
	lines   lines
	breaker *gobreaker.CircuitBreaker[reply]
}

var _ Locker = (*Redis)(nil)

// openFor is how long Redis isn't asked for locks after it gave no answer. A lock
// saves retries in SQL; waiting for one again and again costs more than they do.
const openFor = time.Second

// NewRedis returns locks in the Redis of the client.
func NewRedis(o RedisOptions) *Redis {
	o.TTL = orDefault(o.TTL, 10*time.Second)
	o.MaxHold = orDefault(o.MaxHold, 5*time.Minute)
	o.Timeout = orDefault(o.Timeout, 250*time.Millisecond)
	o.Poll = orDefault(o.Poll, 100*time.Millisecond)
	o.Subscriptions = orDefault(o.Subscriptions, 64)
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Chance == nil {
		o.Chance = rand.Float64
	}
	return &Redis{
		opt:   o,
		lines: newLines(o),
		// One call without an answer opens it, and one with an answer closes it.
		breaker: gobreaker.NewCircuitBreaker[reply](gobreaker.Settings{
			Name:        "lock",
			Timeout:     openFor,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures > 0 },
		}),
	}
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Lock implements [Locker]. The lock is renewed until unlock, or until MaxHold is over.
//
// The error is the cause of ctx where it ended first, and otherwise [ErrUnavailable],
// at once: also for a second after Redis gave no answer to someone else, without asking.
//
// The context held is cancelled by unlock too. What cancelled it before is told by
// [context.Cause]: [ErrLost] with [ErrExpired], [ErrNotOwner] or [ErrMaxHold]. Looking
// at it compares the clock, so a process that was stopped past the lock's time sees
// the loss the first time it looks, not when a timer gets to run. (A context derived
// from it has to wait for the timer.)
//
// Unlock waits for Redis no longer than Timeout, and returns nil where the lock was
// held to the end: nobody else had it in between. It returns [ErrLost] with
// [ErrExpired] or [ErrNotOwner] where it was not, [ErrUnavailable] where that isn't
// known, and [ErrUnlocked] the second time. When it returns, nothing of the lock runs
// any more.
func (r *Redis) Lock(ctx context.Context, key string) (held context.Context, unlock func() error, err error) {
	return r.lock(ctx, key, terms{ttl: r.opt.TTL, renewed: true})
}

// LockFor is Lock with a lease that is not renewed: the lock ends with it, as if
// renewing had failed, whatever MaxHold says. The lease must be at least a millisecond.
func (r *Redis) LockFor(ctx context.Context, key string, lease time.Duration) (held context.Context, unlock func() error, err error) {
	if lease < time.Millisecond {
		return nil, nil, fmt.Errorf("lock %q for %v: name a lease of 1ms or more", key, lease)
	}
	return r.lock(ctx, key, terms{ttl: lease})
}

// terms are those on which a lock is held.
type terms struct {
	ttl     time.Duration
	renewed bool // by a watchdog
}

func (r *Redis) lock(ctx context.Context, item string, t terms) (context.Context, func() error, error) {
	began := r.opt.Now()
	h, err := r.acquire(ctx, keyOf(item), t)
	r.opt.Metrics.acquire(err, r.opt.Now().Sub(began))
	if err != nil {
		return nil, nil, fmt.Errorf("lock %q: %w", item, err)
	}
	return held{h.ctx, h}, h.unlock, nil
}
