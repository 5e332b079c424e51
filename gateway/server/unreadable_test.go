package server

import (
	"testing"
	"time"

	"rushgate/config"
)

// These need a request that is not whole, or not of this version.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	quick := func(c *config.Config) { c.Server.Read = config.Duration(50 * time.Millisecond) }
	for name, tt := range map[string]struct {
		change func(*config.Config)
		text   string
		status int
		code   string
	}{
		"cut off":         {quick, "POST /seckill/1001 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{", 408, "request_timeout"},
		"another version": {nil, "GET /items HTTP/2.0\r\nHost: a\r\n\r\n", 505, "http_version_not_supported"},
		"no host":         {nil, "GET /items HTTP/1.1\r\n\r\n", 400, "bad_request"},
		"garbage":         {nil, "\x16\x03\x01\x02\x00\r\n\r\n", 400, "bad_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, tt.change)
			a := g.raw("", "GET", tt.text)
			if a.status != tt.status || a.member.Code != tt.code {
				t.Fatalf("%d %s, want %d %s", a.status, a.body, tt.status, tt.code)
			}
			isProblem(t, a)
			closes(t, a)
			// It has no time of its own, and must not count from the epoch.
			if sum := g.count("rushgate_request_seconds", "none"); sum < 0 || sum > patience.Seconds() {
				t.Errorf("%v seconds counted", sum)
			}
		})
	}
}
