package luatest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// Every fault is there when its method returns, is over when it is ended, and
// leaves the data alone.
func TestFaultThatIsNone(t *testing.T) {
	t.Parallel()
	for prefix, fault := range map[string]func(*luatest.Server) func(){
		"OOM":        (*luatest.Server).FillMemory,
		"NOREPLICAS": (*luatest.Server).LackReplicas,
		"MISCONF":    (*luatest.Server).FailSaves,
		"READONLY":   (*luatest.Server).Demote,
		"MASTERDOWN": (*luatest.Server).LoseMaster,
		"BUSY":       (*luatest.Server).Busy,
		"LOADING":    (*luatest.Server).Load,
	} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			s := luatest.Start(t)
			c := s.Client()
			set(t, c, "k", "v")
			end := fault(s)
			err := c.Set(t.Context(), "k", "w", 0).Err()
			if prefix == "MASTERDOWN" { // which writes never see: READONLY is looked at first
				err = c.Get(t.Context(), "k").Err()
			}
			if !redis.HasErrorPrefix(err, prefix) {
				t.Errorf("error %v, want %s", err, prefix)
			}
			end()
			end() // twice is once
			want(t, c, "k", "v")
			set(t, c, "k", "w")
			if n := c.DBSize(t.Context()).Val(); n != 1 {
				t.Errorf("%d keys, want 1", n)
			}
		})
	}
}

// A server that is killed in the middle of its fault comes back without it.
func TestFaultSurvivesARestart(t *testing.T) {
	t.Parallel()
	for prefix, fault := range map[string]func(*luatest.Server) func(){
		"MISCONF": (*luatest.Server).FailSaves,
		"BUSY":    (*luatest.Server).Busy,
		"LOADING": (*luatest.Server).Load,
	} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			s := luatest.Start(t)
			set(t, s.Client(), "k", "v")
			fault(s)
			s.Restart()
			want(t, s.Client(), "k", "")
			set(t, s.Client(), "k", "w")
		})
	}
}

func TestUserThatMayDoEverything(t *testing.T) {
	t.Parallel()
	s := luatest.Start(t)
	s.SetUser("reader", "on", ">secret", "~k", "+get")
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Username: "reader", Password: "secret", MaxRetries: -1, DisableIdentity: true})
	defer func() { _ = c.Close() }()
	want(t, c, "k", "")
	if err := c.Set(t.Context(), "k", "v", 0).Err(); !redis.HasErrorPrefix(err, "NOPERM") {
		t.Errorf("a write: %v, want NOPERM", err)
	}
}

func TestPlainTextReachesTLS(t *testing.T) {
	t.Parallel()
	s := luatest.StartTLS(t)
	set(t, s.Client(), "k", "v")
	addr := s.Addr()
	s.Restart()
	want(t, s.Client(), "k", "")
	if s.Addr() != addr || s.CAFile() == "" {
		t.Errorf("address %s, then %s; authority in %q", addr, s.Addr(), s.CAFile())
	}
	plain := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = plain.Close() }()
	if err := plain.Ping(t.Context()).Err(); err == nil {
		t.Error("a client that speaks plain text got an answer")
	}
	if p := luatest.Start(t); p.TLS() != nil || p.CAFile() != "" {
		t.Error("a server that speaks plain text has a certificate")
	}
}

func TestTailSurvivesAFailover(t *testing.T) {
	t.Parallel()
	p := luatest.StartPair(t)
	w := luatest.NewWire(t, p.Primary)
	c := redis.NewClient(&redis.Options{Addr: w.Addr(), MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = c.Close() }()
	for i := range 3 {
		set(t, c, "early", string(rune('a'+i)))
	}
	p.LoseTail(func() {
		set(t, c, "early", "z")
		set(t, c, "late", "z")
	})
	w.Point(p.Replica)
	_ = c.Ping(t.Context()) // uses up the connection that was cut
	want(t, c, "early", "c")
	want(t, c, "late", "")
	set(t, c, "late", "a")
}
