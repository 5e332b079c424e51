package server

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/backend/lock"
	"rushgate/config"
	"rushgate/lua"
)

// DialRedis returns a client of the Redis that the configuration names; nil in
// memory mode. It connects when it is used. Each use (admission, limits, locks)
// takes a client of its own, so that none waits for another's connections. The
// caller closes it.
func DialRedis(c *config.Redis) (redis.UniversalClient, error) {
	if c.Mode == "memory" {
		return nil, nil //nolint:nilnil // there is no Redis, and that is no error
	}
	t, err := c.Target()
	if err != nil {
		return nil, err
	}
	return lua.Dial(lua.DialOptions{
		Addrs: []string{t.Addr}, Username: t.Username, Password: t.Password, TLS: t.TLS, Conns: t.Conns,
		Timeouts: lua.Timeouts{Dial: t.Timeout, Read: t.Timeout, Write: t.Timeout, Pool: t.Timeout},
	})
}

// OpenFilter returns the filter in the configured Redis, and what closes it; nil in
// memory mode.
func OpenFilter(c *config.Config) (filter lua.Filter, stop func() error, err error) {
	client, err := DialRedis(&c.Redis)
	if err != nil || client == nil {
		return nil, func() error { return nil }, err
	}
	return lua.NewRedis(lua.RedisOptions{Client: client, Keep: time.Duration(c.Sales.Keep)}), client.Close, nil
}

// openRedis opens what of a backend is in Redis, unless the caller brought it.
func (b *Backend) openRedis() error {
	c := &b.opt.Config
	if c.Redis.Mode == "memory" {
		return nil
	}
	if b.opt.Filter == nil {
		filter, stop, err := OpenFilter(c)
		if err != nil {
			return err
		}
		b.opt.Filter = filter
		b.onClose(func(context.Context) error { return stop() })
	}
	if b.opt.Locker == nil && c.Lock.Mode == "auto" {
		client, err := DialRedis(&c.Redis)
		if err != nil {
			return err
		}
		b.opt.Locker = lock.NewRedis(lock.RedisOptions{
			Client: client, TTL: time.Duration(c.Lock.TTL), MaxHold: time.Duration(c.Lock.MaxHold),
			Metrics: lock.NewMetrics(b.opt.Registry),
		})
		b.onClose(func(context.Context) error { return client.Close() })
	}
	return nil
}
