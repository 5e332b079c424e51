package lua

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"rushgate/lua/luatest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patient are bounds that a busy machine doesn't reach.
var patient = Timeouts{Dial: 30 * time.Second, Read: 30 * time.Second, Write: 30 * time.Second, Pool: 30 * time.Second}

// timedOut says that a call ended because its time was over.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// dial is a client as programs have it, but patient.
func dial(t testing.TB, addr string) redis.UniversalClient {
	t.Helper()
	return dialWith(t, DialOptions{Addrs: []string{addr}, Timeouts: patient})
}

// dialWith is Dial, closed with the test.
func dialWith(t testing.TB, o DialOptions) redis.UniversalClient {
	t.Helper()
	c, err := Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// overRedis makes a filter in a server that is there.
func overRedis(t testing.TB, addr string) (subject, redis.UniversalClient) {
	t.Helper()
	c := dial(t, addr)
	return subject{
		Filter: NewRedis(RedisOptions{Client: c, Keep: time.Hour}),
		now:    func() time.Time { return c.Time(context.Background()).Val() },
		wipe: func() {
			if err := c.FlushAll(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
		},
		copy: func() func() { return copyRedis(t, c) },
	}, c
}

// copyRedis copies all keys. The result puts them in the place of everything, in a
// server that is another one from then on.
func copyRedis(t testing.TB, c redis.UniversalClient) func() {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	names, err := c.Keys(ctx, "*").Result()
	must(err)
	dumps := make([]*redis.StringCmd, len(names))
	left := make([]*redis.DurationCmd, len(names))
	_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			dumps[i], left[i] = p.Dump(ctx, name), p.PTTL(ctx, name)
		}
		return nil
	})
	must(err)
	return func() {
		t.Helper()
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.FlushAll(ctx)
			for i, name := range names {
				p.Restore(ctx, name, left[i].Val(), dumps[i].Val())
			}
			p.Do(ctx, "DEBUG", "CHANGE-REPL-ID")
			return nil
		})
		must(err)
	}
}

func startRedis(t testing.TB) subject {
	t.Helper()
	s, _ := overRedis(t, luatest.Start(t).Addr())
	return s
}

func TestRedis(t *testing.T) {
	t.Parallel()
	suite(t, startRedis)
}
