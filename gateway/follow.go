package main

import (
	"context"
	"strings"

	"rushgate/backend/api"
	"rushgate/config"
	"rushgate/config/reload"
	"rushgate/gateway/admin"
	"rushgate/gateway/server"
)

// follow keeps the configuration in force while its files change.
func (a *app) follow(ctx context.Context, l *config.Loaded, o startOptions) {
	if o.load == nil {
		return
	}
	a.tokened = l.Config.Admin.TokenFile != ""
	a.reloader = reload.New(l, reload.Options{
		Load: o.load, Apply: func(next *config.Loaded) error { return a.apply(next, o) }, Live: a.live,
		Log: o.log, Registry: a.registry,
	})
	a.run(ctx, "configuration", a.reloader.Run)
}

// live says whether a change of a configuration path takes effect without a restart.
func (a *app) live(path string) bool {
	switch {
	case path == "log.level", server.Live(path):
		return true
	case path == "admin.token_file":
		return a.tokened
	case strings.HasPrefix(path, "tickets.keys"):
		return a.keys != nil // inside one process nobody else verifies
	}
	return false
}

// apply puts what is live of a configuration in force: all of it, or nothing.
func (a *app) apply(next *config.Loaded, o startOptions) error {
	c := &next.Config
	var keys *api.Keys
	if a.keys != nil {
		var err error
		if keys, err = ticketKeys(&c.Tickets); err != nil {
			return err
		}
	}
	if err := a.gateway.Reload(c); err != nil {
		return err
	}
	if keys != nil {
		a.keys.Replace(keys)
	}
	if o.level != nil {
		o.level.Set(c.Log.Threshold())
	}
	return nil
}

// adminOptions are those of the admin listener.
func (a *app) adminOptions(o startOptions) admin.Options {
	opt := admin.Options{Registry: a.registry, Checks: a.checks(), Log: o.log}
	if a.reloader == nil {
		return opt
	}
	if a.tokened {
		opt.Token = a.token
	}
	opt.Config, opt.Reload = a.reloader.Show, a.reloader.Ask
	return opt
}

// token reads the file each time, so that the token can be replaced without a
// restart. One that can't be read lets nobody in.
func (a *app) token() []byte {
	token, err := config.ReadSecret(a.reloader.Current().Config.Admin.TokenFile)
	if err != nil {
		return nil
	}
	return token
}
