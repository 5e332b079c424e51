package lock

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"

	"rushgate/lua/luatest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client's own, which tells of each server that a test took away
	goleak.VerifyTestMain(m)
}

// patience bounds what a busy machine may take; nothing waits for it to pass unless
// something is wrong. No lock, lease or poll of this length ends within a test.
const patience = 30 * time.Second

// start starts a server that knows the scripts, so that each call is sent once.
func start(t testing.TB) *luatest.Server {
	t.Helper()
	s := luatest.Start(t)
	c := dial(t, s.Addr())
	for _, script := range []script{acquireScript, renewScript, releaseScript} {
		if got, err := c.ScriptLoad(t.Context(), script.source).Result(); err != nil || got != script.digest {
			t.Fatalf("load a script: %q, %v, want %q", got, err, script.digest)
		}
	}
	return s
}

// dial is a client as programs have it, but patient, which ends with the test.
func dial(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// slow are options under which nothing happens by itself: whatever ends, was ended.
func slow(c Client) RedisOptions {
	return RedisOptions{Client: c, TTL: time.Hour, MaxHold: time.Hour, Poll: time.Hour, Timeout: patience}
}

// overRedis makes slow locks in a server that is there, each as in a process of its
// own.
func overRedis(t testing.TB, s *luatest.Server) *Redis {
	t.Helper()
	return NewRedis(slow(dial(t, s.Addr())))
}

// mustLock has the lock, or the test ends.
func mustLock(t testing.TB, l Locker, key string) (*hold, context.Context, func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	held, unlock, err := l.Lock(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	return holdOf(held), held, unlock
}

func mustUnlock(t testing.TB, unlock func() error) {
	t.Helper()
	if err := unlock(); err != nil {
		t.Errorf("unlock: %v", err)
	}
}

func holdOf(ctx context.Context) *hold {
	if c, ok := ctx.(held); ok {
		return c.hold
	}
	return nil
}

// wantErrors fails the test unless the error is all of those.
func wantErrors(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("error is %v, want: %v", err, w)
		}
	}
}

// await waits for a signal.
func await[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
	}
	return v
}

// tapped lets a test stand between the locks and Redis. What is nil does nothing.
type tapped struct {
	Client
	call      func(what string, send func() *redis.Cmd) *redis.Cmd
	subscribe func()
}

const taking, renewing, releasing = "take", "renew", "release"

func scriptOf(digest string) string {
	return map[string]string{
		acquireScript.digest: taking, renewScript.digest: renewing, releaseScript.digest: releasing,
	}[digest]
}

func (c *tapped) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	send := func() *redis.Cmd { return c.Client.EvalSha(ctx, sha1, keys, args...) }
	if c.call == nil {
		return send()
	}
	return c.call(scriptOf(sha1), send)
}

func (c *tapped) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	if c.subscribe != nil {
		c.subscribe()
	}
	return c.Client.Subscribe(ctx, channels...)
}

// failed is the answer of a call that didn't get through.
func failed(err error) *redis.Cmd {
	cmd := redis.NewCmd(context.Background())
	cmd.SetErr(err)
	return cmd
}

// model does in memory what the scripts do, by the clock of the test, for what is
// only about time. It tells nobody of a release: that is for a real server.
type model struct {
	fail func(ctx context.Context, what string) error // nil: nothing fails

	mu     sync.Mutex
	holder string
	until  time.Time
	calls  []call
}

type call struct {
	what string
	at   time.Duration // since the model was made
}

var started = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble

func (m *model) EvalSha(ctx context.Context, sha1 string, _ []string, args ...any) *redis.Cmd {
	what := scriptOf(sha1)
	m.mu.Lock()
	m.calls = append(m.calls, call{what, time.Since(started)})
	m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(ctx, what); err != nil {
			return failed(err)
		}
	}
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(m.run(what, args))
	return cmd
}

func (m *model) run(what string, args []any) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !time.Now().Before(m.until) {
		m.holder = ""
	}
	mine := m.holder == args[0]
	switch {
	case what == taking && m.holder != "" && !mine:
		return max(time.Until(m.until).Milliseconds(), 1)
	case what == taking:
		m.holder, m.until = args[0].(string), end(args[1])
		return 0
	case m.holder == "":
		return int64(nobody)
	case !mine:
		return int64(others)
	case what == renewing:
		m.until = end(args[1])
	case what == releasing:
		m.holder = ""
	}
	return int64(done)
}

// empty takes the lock away from whoever holds it.
func (m *model) empty() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holder = ""
}

// end is when a time to live, which scripts take in milliseconds, is over.
func end(ttl any) time.Time { return time.UnixMilli(time.Now().UnixMilli() + ttl.(int64)) }

// times are when a script was called.
func (m *model) times(what string) (at []time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.calls {
		if c.what == what {
			at = append(at, c.at)
		}
	}
	return at
}

func (m *model) Eval(context.Context, string, []string, ...any) *redis.Cmd {
	panic("the model knows all scripts")
}

var errDeaf = errors.New("the model has no channels")

func (m *model) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	c := redis.NewClient(&redis.Options{
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		DialerRetries:            1,
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return nil, errDeaf },
	})
	return c.Subscribe(ctx, channels...)
}
