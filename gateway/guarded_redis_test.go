package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rushgate/backend/api"
	"rushgate/lua"
	"rushgate/lua/luatest"
)

// A Redis over TLS, with a user who may do what the documentation says and no more,
// serves everything that a shop wants of it: the filter, the lock, the clock and the
// limits that gateways share.
func TestRedisBehindTLSAndACL(t *testing.T) {
	t.Parallel()
	s := luatest.StartTLS(t)
	s.SetUser("rushgate", append([]string{"on", ">open sesame"}, strings.Fields(lua.ACL)...)...)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := redisFlags("rediss://" + s.Addr())
	maps.Copy(flags, generous)
	maps.Copy(flags, map[string]string{
		"redis.username": "rushgate", "redis.password_file": password, "redis.ca_file": s.CAFile(),
		"limits.global.scope": "cluster", "limits.item.scope": "cluster",
	})
	r := openShop(t, shopOptions{flags: flags})
	r.sell(saleOf("1", 20))
	crowd := besiege("1", 8, r.door)
	r.eventually("everything is sold", func() bool { return r.left("1") == 0 })
	honest(t, r.backend.Store, "1", 20, crowd.end())
	r.eventually("the clock is Redis'", func() bool { return r.get("/time", "").Source == "redis" })
	admin := r.private.Addr().String()
	if byPath(t, admin, api.PathRedis) == 0 {
		t.Error("nobody was let in through Redis")
	}
	if counted(t, admin, "rushgate_limit_leases_total", `result="granted"`) == 0 {
		t.Errorf("the limits are not shared; calls that failed: %v", counted(t, admin, "rushgate_limit_leases_total", `result="error"`))
	}
	if os.Getenv(lockMode) != "none" && counted(t, admin, "lock_acquire_total", `result="acquired"`) == 0 {
		t.Error("nothing was placed under the lock")
	}
	r.settled()
}
