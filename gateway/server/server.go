// Package server assembles the gateway: the routes and their stages, the limits,
// the way into the sale, and every answer that is given.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"rushgate/backend/api"
	"rushgate/config"
	"rushgate/gateway/admit"
	"rushgate/gateway/catalogue"
	"rushgate/gateway/proxy"
	"rushgate/gateway/timesync"
	"rushgate/gateway/web"
	"rushgate/lua"
)

// catalogueEvery is how often the catalogue is renewed.
const catalogueEvery = time.Second

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

	// Items and Global take the place of this node's own limits, for example by
	// limits that all nodes share. nil: this node's own. They are made with the
	// configuration's rates, and told of new ones.
	Items  ItemLimit
	Global GlobalLimit
	// Clock is the sale's clock, which its owner may set. nil: one that goes by
	// Now for ever.
	Clock *timesync.Clock
	// Now is the node's clock. nil: [time.Now], with the moment of a request
	// taken when it was read. The life of connections doesn't go by it.
	Now func() time.Time
}

// Server is a gateway. Make one with New, then Start, Serve and Shutdown.
//
// What can change while it runs is in two places: policy, which is replaced as a
// whole, and the state that outlives it (limits, gate, the pools in upstreams),
// which is told its new numbers. The rest stays.
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
	pages    map[string]web.File // by path

	orders    api.Orders
	catalogue *catalogue.Catalogue
	gate      *admit.Gate
	clock     *timesync.Clock
	now       func() time.Time
	limits    limits
	meter     *meter

	policy   atomic.Pointer[policy]
	reloads  sync.Mutex // one at a time
	received func(*fasthttp.RequestCtx) time.Time
}

// settings are the plain values that stages read, and that need a restart.
type settings struct {
	Prefix  string
	Timeout time.Duration // of one call to the backend
	Bounds  proxy.Bounds
}

// New builds a gateway from a validated configuration. It opens no connection.
func New(opt Options) (*Server, error) {
	c := &opt.Config
	s := &Server{
		log: opt.Log, orders: opt.Orders, first: first(), routes: newRoutes(), pages: web.Files(c.Prefix),
		unrouted: route{name: "none"}, prefix: []byte(c.Prefix),
		opt: settings{Prefix: c.Prefix, Timeout: time.Duration(c.Upstreams[backendUpstream].Timeout)},
	}
	s.setClock(&opt)
	none, err := proxy.New(uuid.NewString(), nil, time.Now)
	if err != nil {
		return nil, err
	}
	p, err := newPolicy(c, none)
	if err != nil {
		return nil, err
	}
	s.policy.Store(p)
	s.meter = newMeter(opt.Registry, opt.Log, s.now)
	s.limits = newLimits(&c.Limits, &opt, s.now())
	s.base, s.cancel = context.WithCancel(context.Background())
	s.buildGate(c, opt.Filter)
	s.buildHTTP(c)
	return s, nil
}

func (s *Server) setClock(opt *Options) {
	s.now, s.clock = time.Now, opt.Clock
	s.received = (*fasthttp.RequestCtx).Time
	if opt.Now != nil {
		s.now = opt.Now
		s.received = func(*fasthttp.RequestCtx) time.Time { return opt.Now() }
	}
	if s.clock == nil {
		s.clock = timesync.New(s.now)
	}
}

func (s *Server) buildGate(c *config.Config, filter lua.Filter) {
	s.catalogue = catalogue.New(catalogue.Options{
		Source: s.orders, Timeout: s.opt.Timeout, Log: s.log,
		Changed: func(v *catalogue.Snapshot) { s.gate.Follow(v) },
	})
	s.gate = admit.New(admit.Options{
		Filter: filter, Orders: s.orders, Catalogue: s.catalogue,
		Numbers: numbers(c), Terms: s.policy.Load().terms, Timeout: s.opt.Timeout,
		NowMS: s.clock.Millis, Now: s.now, Meter: s.meter,
	})
}

func (s *Server) buildHTTP(c *config.Config) {
	s.opt.Bounds = proxy.Bounds{
		Read: time.Duration(c.Server.Read), Write: time.Duration(c.Server.Write), Idle: time.Duration(c.Server.Idle),
		HeaderBytes: int(c.Server.HeaderBytes), Concurrency: maxConnections,
		BodyNow: func() int { return s.policy.Load().bodyBytes },
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
	s.policy.Load().upstreams.Close()
	return err
}
