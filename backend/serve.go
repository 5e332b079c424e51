package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"rushgate/backend/api"
	"rushgate/backend/server"
	"rushgate/config"
	"rushgate/lua"
)

// drainTime bounds the shutdown: longer than any placement may take.
const drainTime = 15 * time.Second

// serve is the command.
func (p *program) serve(ctx context.Context) (err error) {
	l, err := p.Load()
	if err != nil {
		return err
	}
	c := &l.Config
	var level slog.LevelVar
	log := c.Log.LeveledLogger(p.Stderr, &level)
	lua.LogTo(log)
	keys, err := ticketKeys(c)
	if err != nil {
		return config.Failed(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	b, err := server.Open(ctx, server.Options{Config: *c, Log: log, Registry: registry})
	if err != nil {
		return &config.Exit{Code: config.ExitUnreachable, Err: err}
	}
	h := server.Handler(server.HandlerOptions{
		Orders: b, Keys: keys, Now: b.Now, Timeout: time.Duration(c.Upstreams["backend"].Timeout),
		Report: func(op string, err error) { log.Error("a fault of the program", "operation", op, "error", err) },
	})
	public, private := server.HTTPServer("", h), server.AdminServer(registry, b.Store.Ping)
	defer func() { err = config.Failed(errors.Join(err, shutDown(b, public, private))) }()
	b.Start(ctx)
	unfollow := p.follow(ctx, l, log, registry, &live{keys, &level})
	defer unfollow()
	served := make(chan error, 2)
	at, err := listen(ctx, c.Backend.Listen, public, served)
	if err != nil {
		return fmt.Errorf("%w (choose another address with --listen)", err)
	}
	adminAt, err := listen(ctx, c.Backend.Admin, private, served)
	if err != nil {
		return fmt.Errorf("%w (choose another with backend.admin)", err)
	}
	p.greet(c, at, adminAt)
	select {
	case <-ctx.Done():
		log.Info("stopping; placements under way are finished first", "within", drainTime)
		return nil
	case err := <-served:
		return err
	}
}

func listen(ctx context.Context, addr string, s *http.Server, served chan<- error) (net.Addr, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	go func() { served <- s.Serve(ln) }()
	return ln.Addr(), nil
}

// shutDown stops taking requests, lets the running ones end, then closes what
// they needed.
func shutDown(b *server.Backend, servers ...*http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Shutdown(ctx))
	}
	return errors.Join(append(errs, b.Close(ctx))...)
}

// localKey is the id of the key that a backend without configured keys makes.
const localKey = "local"

func keyFile(c *config.Config) string { return filepath.Join(c.Data, "ticket.key") }

// ticketKeys reads the keys that verify tickets. Without any it makes one and
// keeps it in the data folder, where a gateway on this machine can read it.
func ticketKeys(c *config.Config) (*api.Keys, error) {
	t := c.Tickets
	if len(t.Keys) == 0 {
		if err := makeKey(keyFile(c)); err != nil {
			return nil, err
		}
		t.Keys = []config.TicketKey{{ID: localKey, SecretFile: keyFile(c)}}
	}
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

// makeKey writes a random key unless there is one.
func makeKey(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("data folder: %w (choose another with --data)", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails: crypto/rand ends the program instead
	_, err = f.WriteString(hex.EncodeToString(secret) + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(file) // half a key would stop every later start
	}
	return err
}

// greet says where everything is, and what a gateway needs to use it.
func (p *program) greet(c *config.Config, at, adminAt net.Addr) {
	fmt.Fprintf(p.Stdout, "Rushgate's backend serves gateways.\n\n  orders   http://%s/v1/\n  metrics  http://%s/metrics\n", at, adminAt)
	if c.SQL.Driver == "sqlite" {
		fmt.Fprintf(p.Stdout, "  data     %s\n", filepath.Clean(c.Data))
	}
	if len(c.Tickets.Keys) == 0 {
		fmt.Fprintf(p.Stdout, "\nA gateway on this machine uses it with this configuration:\n\n"+
			"  upstreams: {backend: {servers: [%q]}}\n  tickets: {keys: [{id: %s, secret_file: %s}]}\n", at, localKey, keyFile(c))
	}
	if c.Redis.Mode == "memory" {
		fmt.Fprint(p.Stdout, "\nIt has no Redis (redis.mode is memory): gateways sell on the DB path alone.\n")
		return
	}
	fmt.Fprintf(p.Stdout, "\nIt keeps the filter in Redis at %s right.\n", c.Redis.Addrs[0])
}
