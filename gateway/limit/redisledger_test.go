package limit

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// book is a ledger on a server of its own, and that server's client.
type book struct {
	*RedisLedger
	t      *testing.T
	client *redis.Client
}

func newBook(t *testing.T) book {
	t.Helper()
	client := luatest.Start(t).Client()
	return book{NewRedisLedger(client, "rg:limit:"), t, client}
}

func (b book) take(key string, r Rate, n int) (bool, time.Duration) {
	b.t.Helper()
	ok, after, err := b.Take(b.t.Context(), key, r, n)
	if err != nil {
		b.t.Fatal(err)
	}
	return ok, after
}

func (b book) giveBack(key string, r Rate, n int) {
	b.t.Helper()
	if err := b.Return(b.t.Context(), key, r, n); err != nil {
		b.t.Fatal(err)
	}
}

// left takes whole tokens until there are none. The rate must be slow.
func (b book) left(key string, r Rate) (n int) {
	b.t.Helper()
	for {
		if ok, _ := b.take(key, r, 1); !ok {
			return n
		}
		n++
	}
}

// slow lets nothing flow in while a test runs.
var slow = Rate{QPS: 0.0001, Burst: 10}

func TestLedgerTakesAllOrNone(t *testing.T) {
	b := newBook(t)
	for _, tt := range []struct {
		n    int
		want bool
	}{{7, true}, {4, false}, {3, true}, {1, false}} {
		if ok, after := b.take("global", slow, tt.n); ok != tt.want || ok != (after == 0) {
			t.Errorf("take %d: %v, retry after %v, want %v", tt.n, ok, after, tt.want)
		}
	}
}

// Whatever the rate, fractions of a token a second too, a refused lease is there
// when the ledger said, and not much earlier.
func TestLedgerTellsTheTruth(t *testing.T) {
	b := newBook(t)
	for _, r := range []Rate{{QPS: 0.3, Burst: 2}, {QPS: 1.0 / 3, Burst: 1}, {QPS: 7.5, Burst: 3}, {QPS: 999.999, Burst: 50}, {QPS: 123456, Burst: 100_000}} {
		key := fmt.Sprint(r.QPS)
		full, before := r.timeFor(1), time.Now()
		if ok, _ := b.take(key, r, r.Burst); !ok {
			t.Fatalf("%+v: the account is not full at first", r)
		}
		ok, after := b.take(key, r, 1)
		if ok && time.Since(before) > full {
			continue // a token flowed in meanwhile
		}
		if low := full - time.Since(before) - time.Millisecond; ok || after > full+time.Millisecond || after < low {
			t.Errorf("%+v: emptied, then %v and retry after %v, want about %v", r, ok, after, full)
		}
		if r.QPS < 1 {
			continue
		}
		timer := time.NewTimer(after)
		<-timer.C
		if ok, again := b.take(key, r, 1); !ok {
			t.Errorf("%+v: waited %v as told, refused for %v more", r, after, again)
		}
	}
}

func TestRateIsToldExactly(t *testing.T) {
	for _, qps := range []float64{1e-8, 0.001, 0.3, 1.0 / 3, 0.999, 1, 1.5, 3, 7.123456, 2000, 123456, 1e6 + 7, 1e9} {
		l := inTokens(Rate{QPS: qps, Burst: 5})
		got := float64(l.Rate) / l.Period.Seconds()
		if math.Abs(got/qps-1) > 1e-6 {
			t.Errorf("%v a second is told as %v", qps, got)
		}
	}
	for _, r := range []Rate{{QPS: 1e-300, Burst: 1}, {QPS: 1e300, Burst: 1}, {QPS: math.Inf(1), Burst: 1}} {
		if l := inTokens(r); l.Rate < 1 || l.Period <= 0 || inMicros(r).Burst < 1 {
			t.Errorf("%+v is told as %+v", r, l)
		}
	}
}

func TestLedgerTakesBackWhatWasUnspent(t *testing.T) {
	b := newBook(t)
	for _, tt := range []struct{ took, back, want int }{
		{10, 4, 4},
		{10, 10, 9}, // a fraction stays owed for settleFor
		{1, 1, 9},
		{3, 3, 9},
		{0, 5, 10}, // to an account that owes nothing
		{2, 9, 9},
	} {
		key := fmt.Sprint(tt)
		if tt.took > 0 {
			b.take(key, slow, tt.took)
		}
		b.giveBack(key, slow, tt.back)
		if got := b.left(key, slow); got != tt.want {
			t.Errorf("took %d, gave %d back: %d left, want %d", tt.took, tt.back, got, tt.want)
		}
	}
}

// A debt that was partly paid by time is paid off by what comes back, not dropped
// with it and never more than paid.
func TestReturnToAnAccountThatOwesLess(t *testing.T) {
	b := newBook(t)
	r := Rate{QPS: 1, Burst: 5}
	b.take("global", r, 1)
	timer := time.NewTimer(10 * time.Millisecond)
	<-timer.C // the token is no longer owed whole
	b.giveBack("global", r, 1)
	res, err := b.limiter.AllowN(t.Context(), b.account("global", r), inTokens(r), 0)
	if err != nil || res.ResetAfter > settleFor+time.Millisecond {
		t.Errorf("owes %v, %v, want little more than nothing", res.ResetAfter, err)
	}
}

func TestEmptyLeavesNothing(t *testing.T) {
	b := newBook(t)
	r := Rate{QPS: 2, Burst: 5}
	for _, spent := range []int{0, 3, 5} {
		key := strconv.Itoa(spent)
		if spent > 0 {
			b.take(key, r, spent)
		}
		for range 2 { // as several gateways do
			if err := b.Empty(t.Context(), key, r); err != nil {
				t.Fatal(err)
			}
		}
		if ok, after := b.take(key, r, 1); ok || after < 400*time.Millisecond || after > 500*time.Millisecond+2*tatGrain {
			t.Errorf("%d spent, then emptied: %v, retry after %v, want a token's time", spent, ok, after)
		}
	}
}

// Accounts of other rates are others: none carries another's debt or credit.
func TestAccountsOfTwoRates(t *testing.T) {
	b := newBook(t)
	other := Rate{QPS: slow.QPS, Burst: 3}
	if n, m := b.left("global", slow), b.left("global", other); n != 10 || m != 3 {
		t.Errorf("%d and %d tokens, want 10 and 3", n, m)
	}
}

func TestEveryAccountExpires(t *testing.T) {
	b := newBook(t)
	fast := Rate{QPS: 100, Burst: 1000}
	b.take("item:1001", fast, 500)
	if err := b.Empty(t.Context(), "global", fast); err != nil {
		t.Fatal(err)
	}
	b.take("back", fast, 800)
	b.giveBack("back", fast, 100)
	keys, err := b.client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 3 {
		t.Fatalf("keys %q, %v", keys, err)
	}
	for _, key := range keys {
		if ttl, err := b.client.TTL(t.Context(), key).Result(); err != nil || ttl <= 0 || ttl > 10*time.Second {
			t.Errorf("%s expires after %v, %v, want when it is full", key, ttl, err)
		}
	}
	if n := b.client.Exists(t.Context(), "rate:rg:limit:{item:1001}:100:1000").Val(); n != 1 {
		t.Errorf("the account of the item is not where it should be, but among %q", keys)
	}
}

// A clock of Redis' that is set back, or a failover to a machine whose clock is
// behind, closes no limit for the step.
func TestClockOfRedisSetBack(t *testing.T) {
	b := newBook(t)
	r := Rate{QPS: 2, Burst: 4}
	key := "rate:" + b.account("global", r)
	const epoch = 1483228800 // the script's
	ahead := float64(time.Now().Add(5*time.Minute).UnixMicro())/1e6 - epoch
	if err := b.client.Set(t.Context(), key, strconv.FormatFloat(ahead, 'f', 6, 64), time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if ok, after := b.take("global", r, 1); ok || after > 500*time.Millisecond {
		t.Errorf("%v, retry after %v, want at most a token's time", ok, after)
	}
	if ok, after := b.take("global", r, 1); ok || after > 500*time.Millisecond+2*tatGrain {
		t.Errorf("asked again: %v, retry after %v, want the account empty and no more", ok, after)
	}
}

// An error is never "allowed", and never a panic.
func TestErrorOfRedisIsNotAllowed(t *testing.T) {
	b := newBook(t)
	if err := b.client.HSet(t.Context(), "rate:"+b.account("global", slow), "a", 1).Err(); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Set(t.Context(), "rate:"+b.account("text", slow), "soon", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"global", "text"} {
		if ok, _, err := b.Take(t.Context(), key, slow, 1); ok || err == nil {
			t.Errorf("take from %s: %v, %v", key, ok, err)
		}
		if err := b.Return(t.Context(), key, slow, 1); err == nil {
			t.Errorf("return to %s: no error", key)
		}
		if err := b.Empty(t.Context(), key, slow); err == nil {
			t.Errorf("empty %s: no error", key)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, _, err := b.Take(ctx, "other", slow, 1); ok || err == nil {
		t.Errorf("take after the end: %v, %v", ok, err)
	}
}

// strange answers every script with what no script says.
type strange struct {
	RedisClient
	answer any
}

func (s strange) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return redis.NewCmdResult(s.answer, ctx.Err())
}

func TestStrangeReplyIsAnError(t *testing.T) {
	for _, answer := range []any{nil, "OK", int64(1), []any{}, []any{int64(1)}, []any{"1", "1", "1", "1"}, []any{int64(0), int64(0), "-1", "1"}} {
		l := NewRedisLedger(strange{answer: answer}, "")
		if ok, _, err := l.Take(t.Context(), "global", slow, 1); ok || err == nil {
			t.Errorf("%v: %v, %v, want an error", answer, ok, err)
		}
	}
}

func TestScriptsThatRedisForgot(t *testing.T) {
	b := newBook(t)
	b.take("global", slow, 1)
	if err := b.client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if got := b.left("global", slow); got != 9 {
		t.Errorf("%d left after SCRIPT FLUSH, want 9: taken once", got)
	}
}
