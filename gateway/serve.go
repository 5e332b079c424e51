package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"rushgate/config"
	"rushgate/lua"
)

// serve is the command.
func (p *program) serve(ctx context.Context) error {
	l, err := p.Load()
	if err != nil {
		return err
	}
	var level slog.LevelVar
	log := l.Config.Log.LeveledLogger(p.Stderr, &level)
	lua.LogTo(log)
	zeroSetup := l.File == ""
	a, err := start(ctx, l, startOptions{
		log: log, level: &level, load: p.Load, demo: zeroSetup && isOwn(&l.Config),
	})
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

// isOwn says that everything is inside this process and its data folder: nothing
// that others could sell from.
func isOwn(c *config.Config) bool {
	return c.Upstreams["backend"].Embedded && c.Redis.Mode == "memory" && c.SQL.Driver == "sqlite" && c.SQL.DSN == ""
}

// greet says where everything is, and how to buy.
func (p *program) greet(a *app, l *config.Loaded, zeroSetup bool) {
	c := &l.Config
	at := "http://" + reachable(a.public.Addr()) + c.Prefix
	fmt.Fprintf(p.Stdout, "Rushgate is open.\n\n  sale page  %s/\n  metrics    http://%s/metrics\n", at, reachable(a.private.Addr()))
	if a.backend != nil && c.SQL.Driver == "sqlite" {
		fmt.Fprintf(p.Stdout, "  data       %s\n", filepath.Clean(c.Data))
	}
	if zeroSetup && isOwn(c) {
		fmt.Fprintf(p.Stdout, "\nBuy one (again with the same key: the same order):\n\n"+
			"  curl -i -X POST %s/seckill/1001 -H 'X-User-Id: buyer-1' -H 'Idempotency-Key: buyer-1-a'\n", at)
	}
	switch {
	case a.filter == nil:
		fmt.Fprint(p.Stdout, "\nThis gateway has no Redis (redis.mode is memory): every purchase takes the DB path, within breaker.db_path.\n")
	case c.Redis.Mode == "memory":
		fmt.Fprint(p.Stdout, "\nMemory mode: admission lives in this one process and is rebuilt from SQL at each start.\nRedis is for more than one.\n")
	default:
		fmt.Fprintf(p.Stdout, "\nAdmission is in Redis at %s; without it the DB path sells, within breaker.db_path.\n", c.Redis.Addrs[0])
	}
}

// reachable writes a listener's address as a client on this machine would dial it.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err != nil || (ip != nil && !ip.IsUnspecified()) {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", port)
}
