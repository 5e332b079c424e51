// Package luatest starts real Redis servers for tests and takes them away again:
// killed, restarted empty, frozen, promoted, full, busy, or behind a [Wire] with the
// faults of a network. A fault of a server's is a method that returns how to end it.
// It needs redis-server on the PATH. Every process it starts ends with the test.
package luatest

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// patience bounds every wait for a server. It is long because a machine under test
// is busy; nothing waits for it to pass unless something is wrong.
const patience = 30 * time.Second

// startTries is how many ports are tried: between our finding one free and the
// server's taking it, another process may.
const startTries = 5

// Server is a private redis-server. Its methods fail the test that started it and
// are called by one goroutine at a time.
type Server struct {
	t    testing.TB
	addr string
	dir  string
	args []string
	cert *certificate // nil where it speaks plain text
	run  *process
}

// Start starts a server on a free port of the loopback interface, with an empty
// data set that is never written to disk. args are further arguments, such as
// "--maxmemory", "100mb"; they win.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return (&Server{t: t, dir: t.TempDir(), args: args}).start()
}

// start finds a free port and starts the server there.
func (s *Server) start() *Server {
	s.t.Helper()
	for try := 1; ; try++ {
		s.addr = freeAddr(s.t)
		err := s.launch()
		if err == nil {
			break
		}
		if try == startTries || !strings.Contains(err.Error(), "Address already in use") {
			s.t.Fatalf("luatest: %v", err)
		}
	}
	s.t.Cleanup(func() { s.run.kill() })
	return s
}

// The log of the client library is one for the whole process and tells of each
// server that a test took away. It is silenced here and not by Start, so that who
// sets it in a program or a test has the last word.
func init() { logging.Disable() }

// Addr is where the server listens, host:port. A restart doesn't change it.
func (s *Server) Addr() string { return s.addr }

// Client is a client of the server's that is closed with the test. It sends
// nothing a second time.
func (s *Server) Client() *redis.Client {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: s.addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		ReadTimeout: patience, WriteTimeout: patience, TLSConfig: s.TLS(),
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Kill ends the server at once, as a crash does. What it knew is gone.
func (s *Server) Kill() { s.run.kill() }

// Restart starts the server again at the same address, after Kill or instead of
// it. Without persistence it comes back empty, as another server.
func (s *Server) Restart() {
	s.t.Helper()
	s.run.kill()
	if err := s.launch(); err != nil {
		s.t.Fatalf("luatest: restart: %v", err)
	}
}

// Pause freezes the server: its connections stay open and nothing is answered.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Continue lets a frozen server go on. What it was sent meanwhile it executes now.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.run.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("luatest: send %v to redis-server: %v", sig, err)
	}
}

// launch starts the process and waits until it answers.
func (s *Server) launch() error {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w; install Redis 7 (Debian and Ubuntu: apt-get install redis-server)", err)
	}
	_, port, _ := net.SplitHostPort(s.addr)
	args := append([]string{
		"--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
		"--logfile", "", "--loglevel", "notice",
		"--repl-diskless-sync-delay", "0", // a replica is served at once
		"--enable-debug-command", "local",
	}, s.cert.listen(port)...)
	args = append(args, s.args...)
	s.run, err = start(exec.Command(binary, args...)) //nolint:gosec,noctx // the server that was looked up; its life is ended by the cleanup
	if err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		s.run.kill()
		return fmt.Errorf("%w; it said:\n%s", err, s.run.log)
	}
	return nil
}

// ready waits until the server says that it is, and makes sure by a PING that it is
// ours who listens at the address.
func (s *Server) ready() error {
	if err := s.run.waitFor("Ready to accept connections"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := s.Client()
	if err := c.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis-server at %s doesn't answer: %w", s.addr, err)
	}
	dir, err := c.ConfigGet(ctx, "dir").Result()
	if err != nil {
		return fmt.Errorf("redis-server at %s doesn't tell its dir: %w", s.addr, err)
	}
	if !sameDir(dir["dir"], s.dir) {
		return fmt.Errorf("another server answers at %s: its dir is %q", s.addr, dir["dir"])
	}
	return nil
}

// sameDir compares what links lead to, since the server tells its dir resolved.
func sameDir(a, b string) bool {
	ra, errA := filepath.EvalSymlinks(a)
	rb, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && ra == rb
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("luatest: find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().String()
}
