// Package server assembles the gateway: the routes and their stages, the limits,
// the way into the sale, and every answer that is given.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/gaissmai/bart"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"rushgate/backend/api"
	"rushgate/config"
	"rushgate/gateway/admit"
	"rushgate/gateway/blacklist"
	"rushgate/gateway/catalogue"
	"rushgate/gateway/identity"
	"rushgate/gateway/limit"
	"rushgate/gateway/proxy"
	"rushgate/gateway/timesync"
	"rushgate/gateway/web"
	"rushgate/lua"
)

// catalogueEvery is how often the catalogue is renewed.
const catalogueEvery = time.Second

// maxItems bounds the sales that get a limit of their own at a time.
const maxItems = 10_000

// maxConnections bounds the connections that are served at a time; one more is
// told 503 and closed.
const maxConnections = 64 << 10

// Options of a Server.
type Options struct {
	Config   config.Config
	Filter   lua.Filter // nil: none, every purchase takes the DB path
	Orders   api.Orders
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// Server is a gateway. Make one with New, then Start, Serve and Shutdown.
type Server struct {
	opt    settings
	log    *slog.Logger
	http   *fasthttp.Server
	base   context.Context //nolint:containedctx // the server's own life: ends when waiting for purchases is over
	cancel context.CancelFunc

	first    []stage
	routes   routes
	unrouted route
	prefix   []byte
	router   *proxy.Router

	orders    api.Orders
	catalogue *catalogue.Catalogue
	gate      *admit.Gate
	clock     *timesync.Clock
	upstreams *proxy.Upstreams

	proxies   *identity.Proxies
	identity  *identity.Header
	blacklist blacklist.List
	exempt    bart.Lite
	limits    limits
	pages     map[string]web.File // by path
	meter     *meter
}

// settings are the plain values that stages read.
type settings struct {
	Prefix     string
	Fields     int
	IPv6Prefix int
	Timeout    time.Duration // of one call to the backend
	Bounds     proxy.Bounds
}

// limits are the buckets of every scope.
type limits struct {
	ip     *limit.Keyed[netip.Addr]
	user   *limit.Keyed[string]
	items  *limit.Items
	global *limit.Bucket
}

// New builds a gateway from a validated configuration. It opens no connection.
func New(opt Options) (*Server, error) {
	c := &opt.Config
	s := &Server{
		log: opt.Log, orders: opt.Orders, clock: timesync.New(time.Now), first: first(), routes: newRoutes(), pages: web.Files(c.Prefix),
		unrouted: route{name: "none"}, prefix: []byte(c.Prefix), limits: newLimits(&c.Limits), meter: newMeter(opt.Registry, opt.Log),
		opt: settings{
			Prefix: c.Prefix, Fields: c.Server.Fields, IPv6Prefix: c.Limits.IP.IPv6Prefix, Timeout: time.Duration(c.Upstreams["backend"].Timeout),
		},
	}
	for _, build := range []func(*config.Config) error{s.buildLists, s.buildProxy} {
		if err := build(c); err != nil {
			return nil, err
		}
	}
	s.base, s.cancel = context.WithCancel(context.Background())
	s.buildGate(c, opt.Filter)
	s.buildHTTP(c)
	return s, nil
}

func newLimits(c *config.Limits) limits {
	items := limit.ItemRates{Default: limit.Rate{QPS: c.Item.QPS, Burst: c.Item.Burst}, Overrides: make(map[string]limit.Rate, len(c.Items))}
	for id, r := range c.Items {
		items.Overrides[id] = limit.Rate(r)
	}
	return limits{
		ip:     limit.NewKeyed[netip.Addr](limit.Rate{QPS: c.IP.QPS, Burst: c.IP.Burst}, c.Keys, time.Now()),
		user:   limit.NewKeyed[string](limit.Rate(c.User), c.Keys, time.Now()),
		items:  limit.NewItems(items, maxItems),
		global: limit.NewBucket(limit.Rate{QPS: c.Global.QPS, Burst: c.Global.Burst}),
	}
}

func (s *Server) buildGate(c *config.Config, filter lua.Filter) {
	s.catalogue = catalogue.New(catalogue.Options{
		Source: s.orders, Timeout: s.opt.Timeout, Log: s.log,
		Changed: func(v *catalogue.Snapshot) { s.gate.Follow(v) },
	})
	b := &c.Breaker
	s.gate = admit.New(admit.Options{
		Filter: filter, Orders: s.orders, Catalogue: s.catalogue,
		Breaker: admit.BreakerOptions{
			Window: time.Duration(b.Window), MinRequests: b.MinRequests, FailureRatio: b.FailureRatio,
			SlowCall: time.Duration(b.SlowCall), OpenFor: time.Duration(b.OpenFor),
		},
		DBPath:    admit.DBPathLimit{QPS: b.DBPath.QPS, Concurrency: b.DBPath.Concurrency},
		RefuseQPS: c.Limits.Refuse.QPS, RefuseBurst: c.Limits.Refuse.Burst,
		ReseedWait: time.Duration(c.Lock.Wait), Timeout: s.opt.Timeout, Window: time.Duration(c.Tickets.Window),
		NowMS: s.clock.Millis, Now: time.Now, Meter: s.meter,
	})
}

func (s *Server) buildLists(c *config.Config) (err error) {
	if s.proxies, err = trustedProxies(c.TrustedProxies); err != nil {
		return err
	}
	trusted, err := prefixes(c.Identity.Trusted)
	if err != nil {
		return fmt.Errorf("identity.trusted: %w", err)
	}
	s.identity = identity.NewHeader(trusted)
	set, err := blacklist.Load(c.Blacklist.Users, c.Blacklist.IPs, c.Blacklist.File)
	if err != nil {
		return fmt.Errorf("blacklist: %w", err)
	}
	s.blacklist.Store(set)
	exempt, err := prefixes(c.Limits.IP.Exempt)
	if err != nil {
		return fmt.Errorf("limits.ip.exempt: %w", err)
	}
	for _, p := range exempt {
		s.exempt.Insert(p)
	}
	return nil
}

func (s *Server) buildProxy(c *config.Config) (err error) {
	routes := make([]proxy.Route, len(c.Routes))
	for i, r := range c.Routes {
		routes[i] = proxy.Route(r)
	}
	if s.router, err = proxy.NewRouter(routes); err != nil {
		return err
	}
	groups := make(map[string]proxy.Options, len(c.Upstreams))
	for name, u := range c.Upstreams {
		if !u.Embedded {
			groups[name] = proxy.Options{Servers: u.Servers, Timeout: time.Duration(u.Timeout)}
		}
	}
	s.upstreams, err = proxy.New(uuid.NewString(), groups, time.Now)
	return err
}

func (s *Server) buildHTTP(c *config.Config) {
	s.opt.Bounds = proxy.Bounds{
		Read: time.Duration(c.Server.Read), Write: time.Duration(c.Server.Write), Idle: time.Duration(c.Server.Idle),
		HeaderBytes: int(c.Server.HeaderBytes), BodyBytes: int(c.Server.BodyBytes), Concurrency: maxConnections,
		Full:    fullResponse(),
		OnError: s.unreadable,
	}
	s.http = &fasthttp.Server{Handler: s.handle, Logger: quiet{}}
	proxy.Harden(s.http, s.opt.Bounds)
}

// quiet drops fasthttp's own log: a line for each connection that a client
// broke off would be the client's to write.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Start learns what is on sale and keeps learning. A backend that does not
// answer yet is no error: purchases are refused until it does.
func (s *Server) Start(ctx context.Context) {
	if err := s.catalogue.Refresh(ctx); err != nil {
		s.log.Warn("the backend does not answer yet; purchases are refused until it does", "error", err)
	}
	go s.catalogue.Run(s.base, catalogueEvery)
}

// Serve answers on a listener until Shutdown.
func (s *Server) Serve(ln net.Listener) error { return s.http.Serve(proxy.Guard(ln, s.opt.Bounds)) }

// Ready is nil when a purchase can be served: the catalogue is known and the
// backend answers.
func (s *Server) Ready() error {
	switch {
	case s.catalogue.Snapshot() == nil:
		return fmt.Errorf("the catalogue is not known yet")
	case !s.catalogue.Up():
		return fmt.Errorf("the backend does not answer")
	}
	return nil
}

// Shutdown stops taking connections and waits for the requests under way, as
// long as ctx allows.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.ShutdownWithContext(ctx)
	if errors.Is(err, net.ErrClosed) { // whoever opened the listener may have closed it
		err = nil
	}
	s.cancel()
	s.upstreams.Close()
	return err
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
