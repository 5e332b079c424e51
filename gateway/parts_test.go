package main

import (
	"maps"
	"os"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/store/storetest"
	"rushgate/lua/luatest"
)

// lockMode makes every test of this package that has a Redis place its orders
// under that lock.mode: the guards in SQL must hold without any lock.
const lockMode = "RUSHGATE_LOCK_MODE"

// redisFlags put the filter and the lock into a Redis. A call may take a second: on
// a machine that runs tests everything is slow, and that is no fault of Redis.
func redisFlags(addr string) map[string]string {
	flags := map[string]string{"redis.mode": "single", "redis.addrs": addr, "breaker.slow_call": "1s"}
	if mode := os.Getenv(lockMode); mode != "" {
		flags["lock.mode"] = mode
	}
	return flags
}

// sqlFlags put the orders into a database server.
func sqlFlags(s *storetest.Server) map[string]string {
	return map[string]string{"sql.driver": s.Driver(), "sql.dsn": s.DSN()}
}

// databases are what a shop can run on, beside the file that is the default.
var databases = map[string]func(testing.TB) map[string]string{
	"SQLite":     func(testing.TB) map[string]string { return nil },
	"MariaDB":    func(t testing.TB) map[string]string { t.Helper(); return sqlFlags(storetest.MariaDB(t)) },
	"PostgreSQL": func(t testing.TB) map[string]string { t.Helper(); return sqlFlags(storetest.PostgreSQL(t)) },
}

// TestMain takes away what the tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	storetest.Stop()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

func TestRushOnRealServers(t *testing.T) {
	for name, flags := range databases {
		t.Run("Redis+"+name, func(t *testing.T) {
			all := rushFlags()
			maps.Copy(all, redisFlags(luatest.Start(t).Addr()))
			maps.Copy(all, flags(t))
			s := rushSells(t, all)
			admin := s.private.Addr().String()
			if byPath(t, admin, api.PathRedis) == 0 {
				t.Error("nobody was let in through Redis")
			}
			locked := counted(t, admin, "lock_acquire_total", `result="acquired"`) > 0
			if want := os.Getenv(lockMode) != "none"; locked != want {
				t.Errorf("placed under the lock: %v, want %v", locked, want)
			}
		})
	}
}
