package luatest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"rushgate/lua/luatest"
)

func TestMain(m *testing.M) {
	if os.Getenv(inner) == "" {
		goleak.VerifyTestMain(m)
	}
	os.Exit(m.Run())
}

func TestServersShareData(t *testing.T) {
	t.Parallel()
	a, b := luatest.Start(t), luatest.Start(t)
	set(t, a.Client(), "k", "a")
	want(t, b.Client(), "k", "")
	want(t, a.Client(), "k", "a")
}

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	s := luatest.Start(t)
	set(t, s.Client(), "k", "v")
	addr := s.Addr()
	s.Restart()
	want(t, s.Client(), "k", "")
	s.Kill()
	s.Kill() // twice is once
	if err := s.Client().Ping(t.Context()).Err(); err == nil {
		t.Error("a server that was killed answers")
	}
	s.Restart()
	want(t, s.Client(), "k", "")
	if s.Addr() != addr {
		t.Errorf("the address went from %s to %s", addr, s.Addr())
	}
}

func TestRestartLosesWhatShouldPersist(t *testing.T) {
	t.Parallel()
	s := luatest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	set(t, s.Client(), "k", "v")
	s.Restart()
	want(t, s.Client(), "k", "v")
}

func TestFrozenServerAnswers(t *testing.T) {
	t.Parallel()
	s := luatest.Start(t)
	c := s.Client()
	set(t, c, "k", "v")
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Get(ctx, "k").Err(); err == nil {
		t.Error("a frozen server answered")
	}
	s.Continue()
	want(t, s.Client(), "k", "v")
	s.Pause() // the clean-up must end it all the same
}

func TestReplicaLagsForEver(t *testing.T) {
	t.Parallel()
	first := luatest.Start(t)
	c := first.Client()
	set(t, c, "k", "v")
	second := luatest.StartReplica(t, first)
	copied := second.Client()
	want(t, copied, "k", "v")
	if err := copied.Set(t.Context(), "k", "w", 0).Err(); !redis.HasErrorPrefix(err, "READONLY") {
		t.Errorf("a write to a replica: %v, want READONLY", err)
	}
	second.Promote()
	set(t, copied, "k", "w")
	want(t, c, "k", "v")
	first.Follow(second)
	if err := c.Set(t.Context(), "k", "x", 0).Err(); !redis.HasErrorPrefix(err, "READONLY") {
		t.Errorf("a write to the old primary: %v, want READONLY", err)
	}
}

func TestWireLosesRequests(t *testing.T) {
	t.Parallel()
	s := luatest.Start(t)
	w := luatest.NewWire(t, s)
	c := redis.NewClient(&redis.Options{Addr: w.Addr(), MaxRetries: -1})
	defer func() { _ = c.Close() }()
	set(t, c, "n", "0")
	w.LoseReplies(true)
	if err := c.Incr(t.Context(), "n").Err(); err == nil {
		t.Error("the reply came")
	}
	w.LoseReplies(false)
	want(t, c, "n", "1")
	if n := w.Lost(); n != 1 {
		t.Errorf("%d replies lost, want 1", n)
	}
}

// inner makes the test binary run one test that must fail.
const inner = "LUATEST_INNER"

func TestServerMissing(t *testing.T) {
	if os.Getenv(inner) != "" {
		luatest.Start(t)
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerMissing$", "-test.v")
	cmd.Env = append(os.Environ(), inner+"=1", "PATH="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: TestServerMissing") || !strings.Contains(string(out), "install redis-server") {
		t.Errorf("without redis-server: %v, want a failure that says what to install; it said:\n%s", err, out)
	}
}

func set(t *testing.T, c *redis.Client, key, value string) {
	t.Helper()
	if err := c.Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

// want fails the test unless the key has the value, or is missing for "".
func want(t *testing.T, c *redis.Client, key, value string) {
	t.Helper()
	got, err := c.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) || got != value {
		t.Errorf("%s is %q, %v, want %q", key, got, err, value)
	}
}
