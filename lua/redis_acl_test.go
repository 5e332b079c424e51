package lua

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// The user of ACL may do all that is done in Redis, and nothing that it needs can be
// taken away: without a rule something fails, and says what to give.
func TestUserLacksARight(t *testing.T) {
	t.Parallel()
	server := luatest.Start(t)
	rules := strings.Fields(ACL)
	use := func(rules []string) error {
		if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		server.SetUser("rushgate", append([]string{"reset", "on", ">secret"}, rules...)...)
		return useEverything(t, dialWith(t, DialOptions{Addrs: at(server), Username: "rushgate", Password: "secret", Timeouts: patient}))
	}
	if err := use(rules); err != nil {
		t.Fatalf("with all rules: %v", err)
	}
	for i, rule := range rules {
		if rule == "-@all" { // as a new user is
			continue
		}
		err := use(slices.Delete(slices.Clone(rules), i, i+1))
		if err == nil {
			t.Errorf("without %s nothing fails", rule)
		} else if rule != "+subscribe" && rule != "&rg:*" && !strings.Contains(err.Error(), "ACL SETUSER <name> "+ACL) {
			t.Errorf("without %s: %v, which doesn't say what to do", rule, err)
		}
	}
}

// useEverything does all that Rushgate does in Redis, and returns the first error.
func useEverything(t *testing.T, c redis.UniversalClient) error {
	t.Helper()
	ctx := t.Context()
	return errors.Join(useClock(ctx, c), useFilter(ctx, c), useLock(t, c), useLimits(ctx, c))
}

func useClock(ctx context.Context, c redis.UniversalClient) error { return c.Time(ctx).Err() }

func useFilter(ctx context.Context, c redis.UniversalClient) error {
	f := NewRedis(RedisOptions{Client: c})
	now := time.Now().UnixMilli()
	for epoch := int64(1); epoch <= 2; epoch++ {
		err := f.Seed(ctx, Seed{Item: "1001", Epoch: epoch, StartsAt: now - 60_000, EndsAt: now + 60_000, PerUser: 9, Stock: 2})
		if err != nil {
			return err
		}
		b := Batch{Item: "1001", Epoch: epoch, Requests: []Request{ask("ann", "k1"), ask("ann", "k2"), ask("bob", "k1")}}
		if reply, err := f.Admit(ctx, b); err != nil {
			return err
		} else if !slices.Equal(reply.Verdicts, []Verdict{Admitted, Admitted, SoldOut}) {
			return fmt.Errorf("verdicts %v", reply.Verdicts)
		}
		for _, key := range []string{"k1", "k2"} {
			if _, err := f.Restore(ctx, "1001", "ann", key, 1); err != nil {
				return err
			}
		}
	}
	if err := f.Seed(ctx, Seed{Item: "1001", Epoch: 1, PerUser: 1}); !errors.Is(err, ErrOlder) {
		return fmt.Errorf("seed of an older epoch: %w", err)
	}
	_, err := f.View(ctx, "1001", true)
	return err
}

// useLock takes a lock, takes it again, renews it, and hears of its release, by the
// scripts of the lock.
func useLock(t *testing.T, c redis.UniversalClient) error {
	t.Helper()
	ctx, key := t.Context(), "rg:{1001}:lock"
	listener := c.Subscribe(ctx, key)
	defer func() { _ = listener.Close() }()
	if _, err := listener.Receive(ctx); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	for _, step := range []struct {
		script string
		args   []any
		want   func(int64) bool
	}{
		{"acquire", []any{"token", 60_000}, func(n int64) bool { return n == 0 }},
		{"acquire", []any{"token", 60_000}, func(n int64) bool { return n == 0 }},
		{"acquire", []any{"other", 60_000}, func(n int64) bool { return n > 0 }},
		{"renew", []any{"token", 60_000}, func(n int64) bool { return n == 1 }},
		{"release", []any{"token"}, func(n int64) bool { return n == 1 }},
	} {
		source, err := os.ReadFile("../backend/lock/" + step.script + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		n, err := c.Eval(ctx, string(source), []string{key}, step.args...).Int64()
		if err != nil {
			return fmt.Errorf("%s a lock: %w", step.script, err)
		} else if !step.want(n) {
			return fmt.Errorf("%s a lock: %d", step.script, n)
		}
	}
	_, err := listener.ReceiveMessage(ctx)
	return err
}

// useLimits takes tokens and empties the account, as the limits of a cluster do.
func useLimits(ctx context.Context, c redis.UniversalClient) error {
	limiter := redis_rate.NewLimiter(c)
	if _, err := limiter.AllowN(ctx, "item:1001", redis_rate.PerSecond(5), 2); err != nil {
		return err
	}
	if _, err := limiter.AllowAtMost(ctx, "item:1001", redis_rate.PerSecond(5), 9); err != nil {
		return err
	}
	return limiter.Reset(ctx, "item:1001")
}

// The manual names the same rules.
func TestManualNamesOtherRights(t *testing.T) {
	text, err := os.ReadFile("../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	if line := "\nuser rushgate on >password " + ACL + "\n"; !strings.Contains(string(text), line) {
		t.Errorf("docs/redis.md lacks the line %q", line)
	}
}
