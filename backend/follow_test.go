package main

import "testing"

func TestBackendAsksForARestartOverWhatItDoesNotUse(t *testing.T) {
	for path, live := range map[string]bool{
		"log.level": true, "tickets.keys[0].secret_file": true, "limits.global.qps": true, "listen": true, "routes[0].path": true, "upstreams.shop.timeout": true,
		"sql.dsn": false, "redis.addrs": false, "lock.ttl": false, "backend.listen": false, "upstreams.backend.timeout": false, "log.format": false, "data": false,
	} {
		if isLive(path) != live {
			t.Errorf("%s needs no restart: %v, want %v", path, !live, live)
		}
	}
}
