package server

import (
	"slices"
	"strings"

	"rushgate/config"
)

// live are the keys that Reload puts in force, with all that is below them.
var live = []string{
	"blacklist",
	"breaker",
	"identity.trusted",
	"limits.global.burst", "limits.global.qps",
	"limits.ip",
	"limits.item.burst", "limits.item.qps",
	"limits.items",
	"limits.refuse",
	"limits.user",
	"lock.wait", // as the time that a purchase waits for a reseed
	"routes",
	"server.body_bytes", "server.fields",
	"tickets.window",
	"trusted_proxies",
	"upstreams",
}

// Live says whether [Server.Reload] puts a change of this configuration path in
// force. A change of any other needs a restart. A path that names a group is live
// only if all of it is.
func Live(path string) bool {
	if within(path, "upstreams."+backendUpstream) || path == "upstreams" {
		return false
	}
	return slices.ContainsFunc(live, func(key string) bool { return within(path, key) })
}

// within says that path is key or below it: "routes[0].path" is within "routes".
func within(path, key string) bool {
	rest, ok := strings.CutPrefix(path, key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Reload puts what is [Live] of a validated configuration in force, while
// requests are served. The file of the blacklist is read again each time. After
// an error nothing has changed.
//
// A request keeps the lists, routes, trust, bounds and waits with which it
// began. The buckets, the breaker and the limits of the DB path are shared by all
// requests and have one number each at a time, which each request asks once.
// Their state stays, so no limit that moves hands out a burst; only another
// ipv6_prefix makes other buckets, which begin full. Safe for concurrent use.
func (s *Server) Reload(c *config.Config) error {
	s.reloads.Lock()
	defer s.reloads.Unlock()
	old := s.policy.Load()
	next, err := newPolicy(c, old.upstreams)
	if err != nil {
		return err
	}
	// Nothing from here on may fail.
	now, n := s.now(), numbers(c)
	s.limits.set(now, &c.Limits)
	s.gate.Set(now, &n)
	s.policy.Store(next)
	old.upstreams.Retire(next.upstreams)
	return nil
}
