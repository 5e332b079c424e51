package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"rushgate/backend/api"
	"rushgate/config"
	"rushgate/config/reload"
)

// live is what changes while a backend runs: the keys that verify tickets, and how
// much is logged. The rest needs a restart.
type live struct {
	keys  *api.Keys
	level *slog.LevelVar
}

// restarts are the keys, with all below them, of what a backend reads once. Of the
// others it uses those of live, or none: a limit of the gateways' needs no restart
// of a backend.
var restarts = []string{"backend", "data", "redis", "sql", "upstreams.backend.timeout", "lock", "sales", "orders", "log.format"}

func isLive(path string) bool {
	return !slices.ContainsFunc(restarts, func(key string) bool {
		rest, ok := strings.CutPrefix(path, key)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// apply puts what is live of a configuration in force: all of it, or nothing.
func (v *live) apply(next *config.Loaded) error {
	keys, err := ticketKeys(&next.Config)
	if err != nil {
		return err
	}
	v.keys.Replace(keys)
	v.level.Set(next.Config.Log.Threshold())
	return nil
}

// follow keeps the configuration in force while its files change, until stop.
func (p *program) follow(ctx context.Context, l *config.Loaded, log *slog.Logger, registry prometheus.Registerer, v *live) (stop func()) {
	r := reload.New(l, reload.Options{Load: p.Load, Apply: v.apply, Live: isLive, Log: log, Registry: registry})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	return func() {
		cancel()
		<-done
	}
}
