package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	backend "rushgate/backend/server"
	"rushgate/config"
	"rushgate/gateway/limit"
	"rushgate/gateway/server"
	"rushgate/gateway/timesync"
	"rushgate/lua"
)

// openFilter opens the filter that the configuration names: in Redis, or in the
// memory of this process where the backend is inside it. A gateway in memory mode
// with its backend elsewhere has none.
func (a *app) openFilter(c *config.Config) error {
	if c.Redis.Mode == "memory" {
		if c.Upstreams["backend"].Embedded {
			a.filter = lua.NewMemory(lua.MemoryOptions{Keep: time.Duration(c.Sales.Keep)})
		}
		return nil
	}
	filter, stop, err := backend.OpenFilter(c)
	if err != nil {
		return err
	}
	a.filter = filter
	a.onStop("filter", func(context.Context) error { return stop() })
	return nil
}

// shareRedis adds what gateways share through Redis: one clock, and the limits of
// scope cluster. In memory mode there is nothing to share.
func (a *app) shareRedis(ctx context.Context, c *config.Config, o startOptions, opt *server.Options) error {
	if c.Redis.Mode == "memory" {
		return nil
	}
	client, err := backend.DialRedis(&c.Redis)
	if err != nil {
		return err
	}
	a.onStop("Redis client", func(context.Context) error { return client.Close() })
	now := o.now
	if now == nil {
		now = time.Now
	}
	opt.Clock = timesync.New(now)
	a.run(ctx, "clock", func(ctx context.Context) {
		timesync.Follow(ctx, timesync.FollowOptions{
			Clock: opt.Clock, Ask: timesync.AskRedis(client), Now: now, Log: o.log,
		})
	})
	a.shareLimits(ctx, c, o, client, opt)
	return nil
}

// leaseTime bounds one call for tokens: a request may wait for it, and counts for
// this node alone when it is over.
const leaseTime = 100 * time.Millisecond

func (a *app) shareLimits(ctx context.Context, c *config.Config, o startOptions, client redis.UniversalClient, opt *server.Options) {
	l := &c.Limits
	if l.Item.Scope != "cluster" && l.Global.Scope != "cluster" {
		return
	}
	cluster := limit.NewCluster(limit.ClusterOptions{
		Ledger: limit.NewRedisLedger(client, "rg:limit:"), Bound: leaseTime, Now: o.now, Log: o.log, Meter: newLeaseMeter(a.registry),
	})
	if l.Item.Scope == "cluster" {
		opt.Items = cluster.Items(server.ItemRates(l), server.MaxItems)
	}
	if l.Global.Scope == "cluster" {
		opt.Global = cluster.Bucket("global", server.GlobalRate(l))
	}
	a.onStop("leases", cluster.Close)
	a.run(ctx, "leases", cluster.Run)
}

// leaseMeter counts what limits of scope cluster cost.
type leaseMeter struct {
	leases *prometheus.CounterVec
	alone  prometheus.Gauge
}

func newLeaseMeter(r prometheus.Registerer) *leaseMeter {
	m := &leaseMeter{
		leases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rushgate_limit_leases_total", Help: "Calls to Redis for tokens of limits that gateways share, by result.",
		}, []string{"result"}),
		alone: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rushgate_limit_alone", Help: "1 while Redis gives no tokens and this gateway counts for itself.",
		}),
	}
	r.MustRegister(m.leases, m.alone)
	return m
}

// Lease implements limit.Meter.
func (m *leaseMeter) Lease(result string) { m.leases.WithLabelValues(result).Inc() }

// Alone implements limit.Meter.
func (m *leaseMeter) Alone(alone bool) {
	m.alone.Set(0)
	if alone {
		m.alone.Set(1)
	}
}

// run runs f until the app stops, and then waits for it.
func (a *app) run(ctx context.Context, name string, f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); f(ctx) }()
	a.onStop(name, func(stopping context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-stopping.Done():
			return fmt.Errorf("still running: %w", stopping.Err())
		}
	})
}
