package server

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gaissmai/bart"

	"rushgate/config"
	"rushgate/gateway/admit"
	"rushgate/gateway/blacklist"
	"rushgate/gateway/identity"
	"rushgate/gateway/limit"
	"rushgate/gateway/proxy"
)

// backendUpstream is the upstream that keeps the orders. No route leads there: it
// believes its callers about who the buyer is.
const backendUpstream = "backend"

// policy is what one configuration says about a request. It never changes: a
// reload makes another one. An exchange takes it once, at its start, and goes by
// it to its end.
type policy struct {
	fields     int // header fields of a request
	bodyBytes  int // bytes of its body
	ipv6Prefix int

	proxies   *identity.Proxies
	identity  *identity.Header
	blacklist *blacklist.Set
	exempt    bart.Lite
	router    *proxy.Router
	upstreams *proxy.Upstreams
	terms     admit.Terms
}

// newPolicy reads a configuration, and the files that it names. The groups of old
// that it leaves as they are keep their pools. After an error nothing has been
// done.
func newPolicy(c *config.Config, old *proxy.Upstreams) (*policy, error) {
	p := &policy{
		fields: c.Server.Fields, bodyBytes: int(c.Server.BodyBytes), ipv6Prefix: c.Limits.IP.IPv6Prefix,
		terms: admit.Terms{ReseedWait: time.Duration(c.Lock.Wait), Window: time.Duration(c.Tickets.Window)},
	}
	for _, build := range []func(*config.Config) error{
		p.buildTrust,
		p.buildLists,
		func(c *config.Config) error { return p.buildProxy(c, old) },
	} {
		if err := build(c); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *policy) buildTrust(c *config.Config) (err error) {
	if p.proxies, err = trustedProxies(c.TrustedProxies); err != nil {
		return err
	}
	trusted, err := prefixes(c.Identity.Trusted)
	if err != nil {
		return fmt.Errorf("identity.trusted: %w", err)
	}
	p.identity = identity.NewHeader(trusted)
	return nil
}

func (p *policy) buildLists(c *config.Config) (err error) {
	p.blacklist, err = blacklist.Load(c.Blacklist.Users, c.Blacklist.IPs, c.Blacklist.File)
	if err != nil {
		return err
	}
	exempt, err := prefixes(c.Limits.IP.Exempt)
	if err != nil {
		return fmt.Errorf("limits.ip.exempt: %w", err)
	}
	for _, prefix := range exempt {
		p.exempt.Insert(prefix)
	}
	return nil
}

func (p *policy) buildProxy(c *config.Config, old *proxy.Upstreams) (err error) {
	groups := make(map[string]proxy.Options, len(c.Upstreams))
	for name, u := range c.Upstreams {
		if name != backendUpstream {
			groups[name] = proxy.Options{Servers: u.Servers, Timeout: time.Duration(u.Timeout)}
		}
	}
	if p.upstreams, err = old.With(groups); err != nil {
		return err
	}
	routes := make([]proxy.Route, len(c.Routes))
	for i, r := range c.Routes {
		if !p.upstreams.Has(r.Upstream) {
			return fmt.Errorf("routes[%d].upstream: no upstream for routes is named %q: add it to upstreams, with its servers", i, r.Upstream)
		}
		routes[i] = proxy.Route(r)
	}
	p.router, err = proxy.NewRouter(routes)
	return err
}

// numbers are those of the way into the sale that change while it runs.
func numbers(c *config.Config) admit.Numbers {
	b := &c.Breaker
	return admit.Numbers{
		Breaker: admit.BreakerOptions{
			Window: time.Duration(b.Window), MinRequests: b.MinRequests, FailureRatio: b.FailureRatio,
			SlowCall: time.Duration(b.SlowCall), OpenFor: time.Duration(b.OpenFor),
		},
		DBPath: admit.DBPathLimit{QPS: b.DBPath.QPS, Concurrency: b.DBPath.Concurrency},
		Refuse: limit.Rate(c.Limits.Refuse),
	}
}

func trustedProxies(list []config.TrustedProxy) (*identity.Proxies, error) {
	out := make([]identity.Proxy, len(list))
	for i, p := range list {
		prefix, err := prefix(p.CIDR)
		if err != nil {
			return nil, fmt.Errorf("trusted_proxies[%d]: %w", i, err)
		}
		out[i] = identity.Proxy{Prefix: prefix, Hops: p.Hops}
	}
	return identity.NewProxies(out)
}

// prefix reads a CIDR or a single address.
func prefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

func prefixes(list []string) ([]netip.Prefix, error) {
	all := make([]netip.Prefix, len(list))
	for i, s := range list {
		p, err := prefix(s)
		if err != nil {
			return nil, err
		}
		all[i] = p
	}
	return all, nil
}
