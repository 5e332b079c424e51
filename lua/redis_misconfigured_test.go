package lua

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	server := luatest.StartTLS(t)
	server.SetUser("rushgate", append([]string{"on", ">secret"}, strings.Fields(ACL)...)...)
	c := dialWith(t, DialOptions{Addrs: at(server), Username: "rushgate", Password: "secret", TLS: server.TLS(), Timeouts: patient})
	s := subject{Filter: NewRedis(RedisOptions{Client: c}), now: func() time.Time { return c.Time(t.Context()).Val() }}
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
	s.holds(t, "1001", 9, map[string]int64{"ann": 1})
}

// What will not work until somebody changes the configuration says so, soon, and
// says what to change.
func TestMisconfiguredRedisSaysNothing(t *testing.T) {
	t.Parallel()
	plain, secure, other := luatest.Start(t), luatest.StartTLS(t), luatest.StartTLS(t)
	plain.SetUser("ann", append([]string{"on", ">secret"}, strings.Fields(ACL)...)...)
	plain.SetUser("bob", append([]string{"off", ">secret"}, strings.Fields(ACL)...)...)
	locked := luatest.Start(t)
	locked.SetUser("default", "resetpass", ">secret")
	misnamed := secure.TLS()
	misnamed.ServerName = "redis.example"
	for name, fault := range map[string]struct {
		o    DialOptions
		is   func(error) bool // what the error was before it was explained
		says string
	}{
		"another password": {DialOptions{Addrs: at(plain), Username: "ann", Password: "wrong"}, begins("WRONGPASS"), "correct the user's name or password"},
		"no such user":     {DialOptions{Addrs: at(plain), Username: "zoe", Password: "secret"}, begins("WRONGPASS"), "correct the user's name or password"},
		"user is off":      {DialOptions{Addrs: at(plain), Username: "bob", Password: "secret"}, begins("WRONGPASS"), "whether the user is on"},
		"no password":      {DialOptions{Addrs: at(locked)}, as[redis.Error], "give one"},
		"plain text to TLS": {
			DialOptions{Addrs: at(secure)}, hungUp, "use TLS",
		},
		"TLS to plain text": {
			DialOptions{Addrs: at(plain), TLS: &tls.Config{}}, is(context.DeadlineExceeded), "turn TLS off",
		},
		"unknown authority": {
			DialOptions{Addrs: at(secure), TLS: &tls.Config{}}, as[x509.UnknownAuthorityError], "name the authority",
		},
		"another authority": {
			DialOptions{Addrs: at(secure), TLS: other.TLS()}, as[x509.UnknownAuthorityError], "name the authority",
		},
		"another name": {
			DialOptions{Addrs: at(secure), TLS: misnamed}, as[x509.HostnameError], "an address that stands in it",
		},
		"nobody there": {
			DialOptions{Addrs: []string{"127.0.0.1:1"}}, is(syscall.ECONNREFUSED), "start redis there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault.o.Timeouts = patient
			if strings.HasPrefix(name, "TLS to") { // which only a bound ends
				fault.o.Timeouts.Dial = 50 * time.Millisecond
			}
			short, long := Batch{Item: "1001"}, Batch{Item: "1001", Requests: crowd(99)}
			for _, b := range []Batch{short, long} {
				_, err := NewRedis(RedisOptions{Client: dialWith(t, fault.o)}).Admit(t.Context(), b)
				if err == nil || !fault.is(err) || !strings.Contains(err.Error(), fault.says) {
					t.Errorf("%d requests: error %v, want one that says %q", len(b.Requests), err, fault.says)
				}
			}
		})
	}
}

// A call ends with its context, wherever it is by then: a connection that is
// accepted and goes no further holds nobody.
func TestHandshakeHoldsTheCaller(t *testing.T) {
	t.Parallel()
	server := luatest.StartTLS(t)
	wire := luatest.NewWire(t, server)
	wire.Blackhole(true)
	for name, encryption := range map[string]*tls.Config{"plain": nil, "TLS": server.TLS()} {
		c := dialWith(t, DialOptions{Addrs: []string{wire.Addr()}, TLS: encryption, Timeouts: patient})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := NewRedis(RedisOptions{Client: c}).View(ctx, "1001", false)
		cancel()
		if !timedOut(err) {
			t.Errorf("%s: error %v, want one of the context's end", name, err)
		}
	}
	wire.Blackhole(false) // ends what still shakes hands
}

// A server that hangs up after it has worked speaks the right protocol.
func TestRestartIsTakenForTLS(t *testing.T) {
	t.Parallel()
	server := luatest.Start(t)
	wire := luatest.NewWire(t, server)
	s, _ := overRedis(t, wire.Addr())
	s.open(t, "1001", 10)
	wire.LoseReplies(true)
	if _, err := s.View(t.Context(), "1001", false); err == nil || strings.Contains(err.Error(), "TLS") {
		t.Errorf("error %v, want one that doesn't speak of TLS", err)
	}
}

func at(s *luatest.Server) []string { return []string{s.Addr()} }

func begins(prefix string) func(error) bool {
	return func(err error) bool { return redis.HasErrorPrefix(err, prefix) }
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func as[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}
