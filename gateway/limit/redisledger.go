package limit

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	redisrate "github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// RedisClient is what a RedisLedger needs of a client of Redis. The client must
// send nothing a second time by itself: a Return that is done twice hands out
// tokens that nobody took.
type RedisClient interface {
	redis.Scripter
	Del(ctx context.Context, keys ...string) *redis.IntCmd
}

// RedisLedger keeps the accounts in Redis, by the generic cell rate algorithm of
// redis_rate: an account is the one moment (TAT) at which it will be full, and
// how far that lies ahead of Redis' clock is what is owed. Every write sets the
// key's expiry for that moment, so an account that is full leaves nothing behind.
//
// An account lies at rate:<prefix>{<key>}:<qps>:<burst>. The library puts "rate:"
// before every key; the braces keep all accounts of a key in one hash slot.
type RedisLedger struct {
	limiter *redisrate.Limiter
	prefix  string
}

// NewRedisLedger returns a ledger whose keys begin with prefix, such as
// "rg:limit:", after the library's own.
func NewRedisLedger(client RedisClient, prefix string) *RedisLedger {
	return &RedisLedger{limiter: redisrate.NewLimiter(client), prefix: prefix}
}

const (
	// slowestQPS is about a token in three years; a slower rate counts as this
	// one, so that periods and expiries stay in range.
	slowestQPS = 1e-8
	// tatGrain is how exactly the script counts: TIME has whole microseconds, and a
	// double of the size of a TAT is exact to 60 ns. Waits are told longer by it.
	tatGrain = time.Microsecond
	// settleFor is how much debt a Return leaves where it finds less than it brings.
	// It must outlast a round trip, and pays itself off in that time.
	settleFor = 50 * time.Millisecond
	// stepSlack is how much longer than possible a wait may be before it is taken
	// for a step of Redis' clock.
	stepSlack = 100 * time.Millisecond
)

// Take implements [Ledger].
func (l *RedisLedger) Take(ctx context.Context, key string, r Rate, n int) (ok bool, retryAfter time.Duration, err error) {
	res, err := l.add(ctx, key, r, inTokens(r), n)
	if err != nil {
		return false, 0, fmt.Errorf("take %d tokens of %s in Redis: %w", n, key, err)
	}
	if res.Allowed == n {
		return true, 0, nil
	}
	if res.RetryAfter < 0 {
		return false, 0, fmt.Errorf("take %d tokens of %s in Redis: %d were allowed", n, key, res.Allowed)
	}
	retryAfter = res.RetryAfter + tatGrain
	// An account owes its burst at most, so n tokens are there after their own
	// time. A longer wait is a clock that was set back, or a failover to a machine
	// whose clock is behind, and could be hours: the surplus is forgiven.
	longest := r.timeFor(float64(n))
	if surplus := retryAfter - longest; surplus > stepSlack {
		if _, err := l.add(ctx, key, r, inMicros(r), -int(surplus/time.Microsecond)); err != nil {
			return false, 0, fmt.Errorf("correct the account of %s in Redis after a step of its clock: %w", key, err)
		}
		retryAfter = longest
	}
	return false, retryAfter, nil
}

// Return implements [Ledger]. The script doesn't store a TAT that isn't ahead of
// now, so tokens brought to an account that owes less than they are would be
// dropped together with the debt that stays. Such an account is paid in a second
// step, all but settleFor, in the unit in which fractions of a token can be told.
// Neither step can bring more than n.
func (l *RedisLedger) Return(ctx context.Context, key string, r Rate, n int) error {
	res, err := l.add(ctx, key, r, inTokens(r), -n)
	if err != nil {
		return fmt.Errorf("return %d tokens of %s to Redis: %w", n, key, err)
	}
	if res.ResetAfter > 0 {
		return nil
	}
	rest := r.timeFor(float64(n)) + res.ResetAfter - settleFor
	if rest < time.Microsecond {
		return nil
	}
	if _, err := l.add(ctx, key, r, inMicros(r), -int(rest/time.Microsecond)); err != nil {
		return fmt.Errorf("return the rest of %d tokens of %s to Redis: %w", n, key, err)
	}
	return nil
}

// Empty implements [Ledger]. AllowAtMost charges the fractions that it doesn't
// tell of, which makes it unfit for leases and right for this.
func (l *RedisLedger) Empty(ctx context.Context, key string, r Rate) error {
	unit := inMicros(r)
	_, err := guarded(func() (*redisrate.Result, error) {
		return l.limiter.AllowAtMost(ctx, l.account(key, r), unit, unit.Burst)
	})
	if err != nil {
		return fmt.Errorf("empty the account of %s in Redis: %w", key, err)
	}
	return nil
}

// add makes the account owe so many units more, or less.
func (l *RedisLedger) add(ctx context.Context, key string, r Rate, unit redisrate.Limit, units int) (*redisrate.Result, error) {
	return guarded(func() (*redisrate.Result, error) {
		return l.limiter.AllowN(ctx, l.account(key, r), unit, units)
	})
}

// guarded turns a panic into an error: the library asserts the types of a reply,
// and what stands between a client and Redis may answer anything.
func guarded(call func() (*redisrate.Result, error)) (res *redisrate.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, fmt.Errorf("unreadable reply: %v", p)
		}
	}()
	return call()
}

func (l *RedisLedger) account(key string, r Rate) string {
	return l.prefix + "{" + key + "}:" + strconv.FormatFloat(r.QPS, 'g', -1, 64) + ":" + strconv.Itoa(r.Burst)
}

// inTokens is the rate in the library's terms. It divides the period by the rate,
// in floating point, but takes whole events and nanoseconds: so fast rates
// are told as events in a million seconds and slow ones as the time for a single
// event, each to one part in a million or better.
func inTokens(r Rate) redisrate.Limit {
	if qps := min(r.QPS, maxQPS); qps >= 1 {
		return redisrate.Limit{Rate: int(math.Round(qps * 1e6)), Period: 1e6 * time.Second, Burst: r.Burst}
	}
	return redisrate.Limit{Rate: 1, Period: time.Duration(1e9 / max(r.QPS, slowestQPS)), Burst: r.Burst}
}

// inMicros counts the same account in microseconds of its flow.
func inMicros(r Rate) redisrate.Limit {
	l := inTokens(r)
	full := l.Period.Seconds() / float64(l.Rate) * float64(l.Burst)
	return redisrate.Limit{Rate: 1e6, Period: time.Second, Burst: int(math.Ceil(full * 1e6))}
}
