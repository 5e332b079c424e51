package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"rushgate/backend/api"
	backend "rushgate/backend/server"
	"rushgate/config"
	"rushgate/config/reload"
	"rushgate/gateway/admin"
	"rushgate/gateway/server"
	"rushgate/lua"
)

// drainTime bounds the shutdown: longer than any request may take.
const drainTime = 15 * time.Second

// app is a running gateway, with the backend inside it where that is embedded.
type app struct {
	gateway *server.Server
	backend *backend.Backend // nil where it runs elsewhere
	filter  lua.Filter       // nil where there is none
	keys    *api.Keys        // that sign tickets; nil where the backend is inside

	registry        *prometheus.Registry
	reloader        *reload.Reloader // nil where the configuration stays as it is
	tokened         bool             // the admin listener asks for a token
	public, private net.Listener
	admin           *http.Server
	served          chan error // the first listener that ended
	undo            []step     // run last to first
}

// step is one thing to undo at the end, by name.
type step struct {
	name string
	do   func(context.Context) error
}

// startOptions are what a start takes beside its configuration.
type startOptions struct {
	log  *slog.Logger
	demo bool
	// wrap stands between the gateway and the filter; nil for nothing. The
	// backend's seeder keeps talking to the filter itself.
	wrap func(lua.Filter) lua.Filter
	now  func() time.Time // the node's clock; nil for time.Now
	// load reads the configuration again, where it came from; nil: it stays as it is.
	load  func() (*config.Loaded, error)
	level *slog.LevelVar // of log; nil: it stays as it is
}

// start runs everything that the configuration names and returns when it serves.
func start(ctx context.Context, l *config.Loaded, o startOptions) (a *app, err error) {
	a = &app{served: make(chan error, 2), registry: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.stop())
			a = nil
		}
	}()
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	c := &l.Config
	if err = a.openFilter(c); err != nil {
		return a, err
	}
	orders, err := a.startOrders(ctx, c, o)
	if err != nil {
		return a, err
	}
	opt := server.Options{Config: *c, Filter: a.filter, Orders: orders, Log: o.log, Registry: a.registry, Now: o.now}
	if o.wrap != nil {
		opt.Filter = o.wrap(a.filter)
	}
	if err = a.shareRedis(ctx, c, o, &opt); err != nil {
		return a, err
	}
	if a.gateway, err = server.New(opt); err != nil {
		return a, err
	}
	a.gateway.Start(ctx)
	a.onStop("gateway", a.gateway.Shutdown)
	a.follow(ctx, l, o)
	return a, a.listen(ctx, c, o)
}

// startOrders opens what keeps the orders: the embedded backend, or a client of
// one elsewhere.
func (a *app) startOrders(ctx context.Context, c *config.Config, o startOptions) (api.Orders, error) {
	if u := c.Upstreams["backend"]; !u.Embedded {
		return a.dialBackend(c, &u)
	}
	if c.SQL.Driver == "sqlite" && c.SQL.DSN == "" {
		release, err := lockFolder(c.Data)
		if err != nil {
			return nil, err
		}
		a.onStop("data folder", func(context.Context) error { return release() })
	}
	opt := backend.Options{Config: *c, Log: o.log, Registry: a.registry}
	if c.Redis.Mode == "memory" {
		opt.Filter = a.filter // it lives in this process alone
	}
	b, err := backend.Open(ctx, opt)
	if err != nil {
		return nil, &config.Exit{Code: config.ExitUnreachable, Err: err}
	}
	a.backend = b
	a.onStop("backend", b.Close)
	if o.demo {
		if err := makeDemo(ctx, b.Store); err != nil {
			return nil, fmt.Errorf("making the demo sales: %w", err)
		}
	}
	b.Start(ctx)
	return b, nil
}

func (a *app) dialBackend(c *config.Config, u *config.Upstream) (_ api.Orders, err error) {
	if a.keys, err = ticketKeys(&c.Tickets); err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.ClientOptions{Servers: u.Servers, Keys: a.keys, Timeout: time.Duration(u.Timeout)})
	if err != nil {
		return nil, err
	}
	a.onStop("backend client", func(context.Context) error { client.Close(); return nil })
	return client, nil
}

// ticketKeys reads the keys that sign tickets.
func ticketKeys(t *config.Tickets) (*api.Keys, error) {
	secrets, err := t.Secrets()
	if err != nil {
		return nil, err
	}
	keys := make([]api.Key, len(secrets))
	for i, s := range secrets {
		keys[i] = api.Key(s)
	}
	return api.NewKeys(keys)
}

// listen opens both listeners and serves on them.
func (a *app) listen(ctx context.Context, c *config.Config, o startOptions) (err error) {
	var lc net.ListenConfig
	if a.public, err = lc.Listen(ctx, "tcp", c.Listen); err != nil {
		return fmt.Errorf("%w (choose another address with --listen)", err)
	}
	a.onStop("public listener", func(context.Context) error { return closed(a.public.Close()) })
	if a.private, err = lc.Listen(ctx, "tcp", c.Admin.Listen); err != nil {
		return fmt.Errorf("%w (choose another address with --admin)", err)
	}
	a.admin = admin.New(a.adminOptions(o))
	a.onStop("admin listener", a.admin.Shutdown)
	go func() { a.served <- a.admin.Serve(a.private) }()
	go func() { a.served <- a.gateway.Serve(a.public) }()
	return nil
}

// checks are what /readyz asks. Redis is none of them: without it the gateway
// sells on the DB path.
func (a *app) checks() []admin.Check {
	checks := []admin.Check{{Name: "catalogue", Ask: func(context.Context) error { return a.gateway.Ready() }}}
	if a.backend != nil {
		checks = append(checks, admin.Check{Name: "database", Ask: a.backend.Store.Ping})
	}
	return checks
}

func (a *app) onStop(name string, do func(context.Context) error) {
	a.undo = append(a.undo, step{name, do})
}

// stop undoes the start, last to first, within drainTime: no new requests, the
// running ones to their end, then what they needed.
func (a *app) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var errs []error
	for _, v := range slices.Backward(a.undo) {
		if err := v.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stopping the %s: %w", v.name, err))
		}
	}
	a.undo = nil
	return errors.Join(errs...)
}

// closed forgives closing twice.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
