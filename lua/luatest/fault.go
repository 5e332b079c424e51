package luatest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The methods below make a server answer errors. Each returns when the server does,
// and what it returns ends that, waits until it is over, and does nothing the second
// time. They are for a server that is running; a restart ends them too.

// SetUser makes or changes an ACL user of the running server with the rules of ACL
// SETUSER, such as "on", ">password", "~*", "+@all". A restart forgets it.
func (s *Server) SetUser(name string, rules ...string) {
	s.t.Helper()
	args := append(make([]any, 0, 3+len(rules)), "ACL", "SETUSER", name)
	for _, r := range rules {
		args = append(args, r)
	}
	s.do(args...)
}

// FillMemory lets the server find its memory full, without evicting anything: what
// needs more is told OOM.
func (s *Server) FillMemory() (end func()) {
	s.t.Helper()
	s.config("maxmemory-policy", "noeviction")
	s.config("maxmemory", "1")
	return sync.OnceFunc(func() { s.config("maxmemory", "0") })
}

// LackReplicas lets the server miss the replicas that it must have to write: writes
// are told NOREPLICAS.
func (s *Server) LackReplicas() (end func()) {
	s.t.Helper()
	s.config("min-replicas-to-write", "100")
	return sync.OnceFunc(func() { s.config("min-replicas-to-write", "0") })
}

// FailSaves lets the server fail to save its data, as on a full disk: writes are
// told MISCONF.
func (s *Server) FailSaves() (end func()) {
	s.t.Helper()
	inTheWay := filepath.Join(s.dir, "dump.rdb")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		s.t.Fatalf("luatest: fail saves: %v", err)
	}
	s.config("save", "3600 1000000")
	s.run.log.clear()
	s.do("BGSAVE")
	s.waitFor("Background saving error")
	_ = os.Remove(inTheWay) // so that a restart finds nothing
	return sync.OnceFunc(func() { s.config("save", "") })
}

// Demote makes the server a replica of a primary that is out of reach: it has its
// data, and writes are told READONLY. Where it ends, the server is a primary again,
// with another master_replid.
func (s *Server) Demote() (end func()) {
	s.t.Helper()
	s.config("replica-serve-stale-data", "yes")
	return s.leaderless()
}

// LoseMaster is Demote of a server that doesn't serve stale data: reads are told
// MASTERDOWN, writes READONLY as before.
func (s *Server) LoseMaster() (end func()) {
	s.t.Helper()
	s.config("replica-serve-stale-data", "no")
	return s.leaderless()
}

func (s *Server) leaderless() (end func()) {
	s.t.Helper()
	s.do("REPLICAOF", "127.0.0.1", "1") // nothing listens there
	return sync.OnceFunc(s.Promote)
}

// Busy lets the server run a script that doesn't end: everything else is told BUSY.
// (SCRIPT KILL ends it too.)
func (s *Server) Busy() (end func()) {
	s.t.Helper()
	s.config("busy-reply-threshold", "1")
	return s.during("BUSY", func(ctx context.Context, c *redis.Client) {
		_ = c.Eval(ctx, "while true do end", nil).Err() // ends with an error, however it ends
	}, func(ctx context.Context, c *redis.Client) {
		_ = c.ScriptKill(ctx).Err() // the server may be gone, or somebody was faster
	})
}

// Load lets the server load its data, which it keeps, slowly: everything is told
// LOADING. It is over by itself after some ten seconds.
func (s *Server) Load() (end func()) {
	s.t.Helper()
	const fill, empty = `for i = 1, 1000 do redis.call('SET', 'luatest:' .. i, string.rep('x', 2048)) end`,
		`for i = 1, 1000 do redis.call('DEL', 'luatest:' .. i) end`
	s.do("EVAL", fill, 0)
	s.config("rdbcompression", "no")
	s.config("loading-process-events-interval-bytes", "1024")
	s.config("key-load-delay", "10000") // microseconds
	over := s.during("LOADING", func(ctx context.Context, c *redis.Client) {
		_ = c.Do(ctx, "DEBUG", "RELOAD").Err() // the server may be gone
	}, func(ctx context.Context, c *redis.Client) {
		_ = c.ConfigSet(ctx, "key-load-delay", "0").Err()
	})
	_ = os.Remove(filepath.Join(s.dir, "dump.rdb")) // so that a restart finds nothing
	return sync.OnceFunc(func() {
		over()
		s.do("EVAL", empty, 0)
	})
}

// during starts what takes long, on a connection of its own, and waits until the
// server answers with an error of that prefix. The result stops it and waits until
// it has ended.
func (s *Server) during(prefix string, start, stop func(context.Context, *redis.Client)) (end func()) {
	s.t.Helper()
	long, other := s.Client(), s.Client()
	over := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(over)
		start(ctx, long)
	}()
	end = sync.OnceFunc(func() {
		stop(ctx, other)
		select {
		case <-over:
		case <-time.After(patience):
			s.t.Errorf("luatest: %s hasn't ended for %v", prefix, patience)
		}
		cancel()
	})
	s.t.Cleanup(end)
	for began := time.Now(); !redis.HasErrorPrefix(other.Ping(ctx).Err(), prefix); {
		if time.Since(began) > patience {
			s.t.Fatalf("luatest: the server doesn't answer %s after %v", prefix, patience)
		}
	}
	return end
}

// config changes a setting of the running server.
func (s *Server) config(name, value string) {
	s.t.Helper()
	s.do("CONFIG", "SET", name, value)
}

// do runs one command on a connection of its own, as the default user.
func (s *Server) do(args ...any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := s.Client()
	defer func() { _ = c.Close() }()
	if err := c.Do(ctx, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatalf("luatest: %v %v: %v", args[0], args[1:], err)
	}
}

func (s *Server) waitFor(phrases ...string) {
	s.t.Helper()
	if err := s.run.waitFor(phrases...); err != nil {
		s.t.Fatalf("luatest: %v; it said:\n%s", err, s.run.log)
	}
}
