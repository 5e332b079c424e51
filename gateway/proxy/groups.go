package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Upstreams are the groups of servers that requests are forwarded to, with
// their pools of connections. It is safe for concurrent use, and which groups
// there are never changes: [Upstreams.With] makes other ones.
type Upstreams struct {
	groups    map[string]*group
	pseudonym string // ours in Via: "rushgate-" and the instance's id
	now       func() time.Time
}

// New makes Upstreams. instance is this gateway's id, a token that no other
// gateway has: requests that come back to it are broken off by that name.
func New(instance string, groups map[string]Options, now func() time.Time) (*Upstreams, error) {
	if !isToken(instance) {
		return nil, fmt.Errorf("instance id %q: use letters, digits and hyphens", instance)
	}
	return (&Upstreams{pseudonym: "rushgate-" + instance, now: now}).With(groups)
}

// With returns Upstreams with these groups in place of those of u. A group whose
// options are the same as in u keeps its pools; the others are new. u stays as it
// is, and after an error nothing has been done; when With's result is in force,
// call [Upstreams.Retire] on u.
func (u *Upstreams) With(groups map[string]Options) (*Upstreams, error) {
	next := &Upstreams{groups: make(map[string]*group, len(groups)), pseudonym: u.pseudonym, now: u.now}
	for name, o := range groups {
		o = o.withDefaults()
		if old := u.groups[name]; old != nil && old.o.same(o) {
			next.groups[name] = old
			continue
		}
		g, err := newGroup(o, u.now)
		if err != nil {
			return nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		next.groups[name] = g
	}
	return next, nil
}

// Has says whether there is a group of this name.
func (u *Upstreams) Has(name string) bool { return u.groups[name] != nil }

// Conns is how many connections are open, idle ones too.
func (u *Upstreams) Conns() int {
	n := 0
	for _, g := range u.groups {
		for _, s := range g.servers {
			n += s.pool.ConnsCount()
		}
	}
	return n
}

// Retire drains the groups that next does not have: idle connections are closed
// at once, those in use when their answer is there. Requests that still come for
// such a group, from whoever found it before the change, are served as ever.
func (u *Upstreams) Retire(next *Upstreams) {
	for name, g := range u.groups {
		if next.groups[name] != g {
			g.retire()
		}
	}
}

// Close closes the idle connections. Requests in flight end as they would, and
// their connections are retired after Options.Idle.
func (u *Upstreams) Close() {
	for _, g := range u.groups {
		for _, s := range g.servers {
			s.pool.CloseIdleConnections()
		}
	}
}

func (g *group) retire() {
	for _, s := range g.servers {
		s.retired.Store(true)
		s.pool.CloseIdleConnections()
	}
}

// group is one upstream.
type group struct {
	o       Options
	servers []*server
	turn    atomic.Uint32 // where the search begins, so that equals take turns
	now     func() time.Time
}

func newGroup(o Options, now func() time.Time) (*group, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("no servers: list at least one host:port")
	}
	g := &group{o: o, now: now}
	for _, addr := range o.Servers {
		if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("server %q: write host:port", addr)
		}
		g.servers = append(g.servers, newServer(addr, o))
	}
	return g, nil
}
