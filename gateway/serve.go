package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"rushgate/backend/api"
	backend "rushgate/backend/server"
	"rushgate/config"
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
}

// start runs everything that the configuration names and returns when it serves.
func start(ctx context.Context, l *config.Loaded, o startOptions) (a *app, err error) {
	a = &app{served: make(chan error, 2)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.stop())
			a = nil
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	orders, err := a.startOrders(ctx, l, o, registry)
	if err != nil {
		return a, err
	}
	seen := a.filter
	if o.wrap != nil {
		seen = o.wrap(a.filter)
	}
	a.gateway, err = server.New(server.Options{Config: l.Config, Filter: seen, Orders: orders, Log: o.log, Registry: registry})
	if err != nil {
		return a, err
	}
	a.gateway.Start(ctx)
	a.onStop("gateway", a.gateway.Shutdown)
	return a, a.listen(ctx, &l.Config, registry)
}

// startOrders opens what keeps the orders: the embedded backend, or a client of
// one elsewhere.
func (a *app) startOrders(ctx context.Context, l *config.Loaded, o startOptions, registry *prometheus.Registry) (api.Orders, error) {
	c := &l.Config
	if u := c.Upstreams["backend"]; !u.Embedded {
		keys, err := ticketKeys(&c.Tickets)
		if err != nil {
			return nil, err
		}
		client, err := api.NewClient(api.ClientOptions{Servers: u.Servers, Keys: keys, Timeout: time.Duration(u.Timeout)})
		if err != nil {
			return nil, err
		}
		a.onStop("backend client", func(context.Context) error { client.Close(); return nil })
		return client, nil
	}
	if c.SQL.DSN == "" {
		release, err := lockFolder(c.Data)
		if err != nil {
			return nil, err
		}
		a.onStop("data folder", func(context.Context) error { return release() })
	}
	a.filter = lua.NewMemory(lua.MemoryOptions{Keep: time.Duration(c.Sales.Keep)})
	b, err := backend.Open(ctx, backend.Options{Config: *c, Filter: a.filter, Log: o.log, Registry: registry})
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
	return b, b.Start(ctx)
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
func (a *app) listen(ctx context.Context, c *config.Config, registry *prometheus.Registry) (err error) {
	var lc net.ListenConfig
	if a.public, err = lc.Listen(ctx, "tcp", c.Listen); err != nil {
		return fmt.Errorf("%w (choose another address with --listen)", err)
	}
	a.onStop("public listener", func(context.Context) error { return closed(a.public.Close()) })
	if a.private, err = lc.Listen(ctx, "tcp", c.Admin.Listen); err != nil {
		return fmt.Errorf("%w (choose another address with --admin)", err)
	}
	a.admin = admin.New(admin.Options{Registry: registry, Checks: a.checks()})
	a.onStop("admin listener", a.admin.Shutdown)
	go func() { a.served <- a.admin.Serve(a.private) }()
	go func() { a.served <- a.gateway.Serve(a.public) }()
	return nil
}

// checks are what /readyz asks.
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

// serve is the command.
func (p *program) serve(ctx context.Context) error {
	l, err := p.Load()
	if err != nil {
		return err
	}
	log := l.Config.Log.Logger(p.Stderr)
	zeroSetup := l.File == ""
	a, err := start(ctx, l, startOptions{log: log, demo: zeroSetup && l.Config.Upstreams["backend"].Embedded})
	if err != nil {
		return config.Failed(err)
	}
	p.greet(a, l, zeroSetup)
	select {
	case <-ctx.Done():
		log.Info("stopping; requests under way are finished first", "within", drainTime)
		err = nil
	case err = <-a.served:
	}
	return config.Failed(errors.Join(err, a.stop()))
}

// greet says where everything is, and how to buy.
func (p *program) greet(a *app, l *config.Loaded, zeroSetup bool) {
	c := &l.Config
	at := "http://" + reachable(a.public.Addr()) + c.Prefix
	fmt.Fprintf(p.Stdout, "Rushgate is open.\n\n  sale page  %s/\n  metrics    http://%s/metrics\n", at, reachable(a.private.Addr()))
	if a.backend != nil {
		fmt.Fprintf(p.Stdout, "  data       %s\n", filepath.Clean(c.Data))
	}
	if zeroSetup && a.backend != nil {
		fmt.Fprintf(p.Stdout, "\nBuy one (again with the same key: the same order):\n\n"+
			"  curl -i -X POST %s/seckill/1001 -H 'X-User-Id: buyer-1' -H 'Idempotency-Key: buyer-1-a'\n", at)
	}
	if a.filter == nil {
		fmt.Fprint(p.Stdout, "\nThere is no Redis in this version: every purchase takes the DB path, within breaker.db_path.\n")
		return
	}
	fmt.Fprint(p.Stdout, "\nMemory mode: admission lives in this one process and is rebuilt from SQL at each start.\nRedis is for more than one.\n")
}

// reachable writes a listener's address as a client on this machine would dial it.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err != nil || (ip != nil && !ip.IsUnspecified()) {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", port)
}
