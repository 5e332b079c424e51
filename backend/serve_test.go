package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/config"
)

// serving is a backend that runs as a program does, but in this process.
type serving struct {
	t       *testing.T
	orders  string // address
	metrics string
	config  string // that it advises for a gateway
	stop    func() (code int)
}

// serve starts one on free ports and returns when it serves.
func serve(t *testing.T, data string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	var stderr strings.Builder
	code := make(chan int, 1)
	go func() {
		env := []string{"RUSHGATE_BACKEND_ADMIN=127.0.0.1:0", "RUSHGATE_LOG_LEVEL=error"}
		code <- run(ctx, []string{"--data", data, "--listen", "127.0.0.1:0"}, env, out, &stderr)
		_ = out.Close()
	}()
	s := &serving{t: t}
	s.stop = func() int {
		cancel()
		c := <-code
		code <- c
		if got := stderr.String(); got != "" {
			t.Errorf("it complained: %s", got)
		}
		return c
	}
	t.Cleanup(func() { s.stop() })
	var greeting strings.Builder
	for lines := bufio.NewScanner(in); lines.Scan(); {
		greeting.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "It has no Redis") { // its last words
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, in) }()
	find := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(greeting.String())
		if m == nil {
			t.Fatalf("no %s in the greeting %q", pattern, greeting.String())
		}
		return m[1]
	}
	s.orders, s.metrics = find(`orders +http://(\S+)/v1/`), find(`metrics +(http://\S+/metrics)`)
	s.config = find(`(?m)^  (upstreams: .*\n  tickets: .*)$`)
	return s
}

// What the backend advises is what a gateway needs: the key that it has made is
// its owner's alone, and tickets that are signed with it become orders.
func TestBackendServesWhoReadsItsKey(t *testing.T) {
	data := filepath.Join(t.TempDir(), "shop")
	env := []string{"RUSHGATE_DATA=" + data}
	create := []string{"sale", "create", "--item", "1", "--title", "T", "--price", "100", "--units", "2", "--ends", "1h"}
	if code := run(t.Context(), create, env, io.Discard, os.Stderr); code != 0 {
		t.Fatal("exit code", code)
	}
	s := serve(t, data)
	info, err := os.Stat(filepath.Join(data, "ticket.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("ticket.key: %v, %v; want one for its owner alone", info.Mode(), err)
	}
	advice := filepath.Join(t.TempDir(), "gateway.yaml")
	if err := os.WriteFile(advice, []byte(strings.ReplaceAll(s.config, "\n  ", "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Options{File: advice})
	if err != nil {
		t.Fatalf("what it advises is no configuration: %v", err)
	}
	o := client(t, &l.Config).place("1", "u")
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d of a backend that was told to stop", code)
	}

	s = serve(t, data) // again: the same key, the same orders
	l.Config.Upstreams["backend"] = config.Upstream{Servers: []string{s.orders}}
	if again := client(t, &l.Config).place("1", "u"); again != o {
		t.Errorf("after a restart the key says %+v, want %+v", again, o)
	}
	resp, err := http.Get(s.metrics)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if _ = resp.Body.Close(); err != nil || !strings.Contains(string(body), `rushgate_orders_total{again="true",outcome="created",path="db"} 1`) {
		t.Errorf("metrics: %v\n%s", err, body)
	}
}

// gateway stands for one: a client with the keys of its configuration.
type gateway struct {
	t *testing.T
	*api.Client
}

func client(t *testing.T, c *config.Config) gateway {
	t.Helper()
	secrets, err := c.Tickets.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := api.NewKeys([]api.Key{api.Key(secrets[0])})
	if err != nil {
		t.Fatal(err)
	}
	o, err := api.NewClient(api.ClientOptions{Servers: c.Upstreams["backend"].Servers, Keys: keys, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return gateway{t, o}
}

func (g gateway) place(item, user string) api.Order {
	g.t.Helper()
	o, err := g.Place(g.t.Context(), api.Ticket{
		Item: item, User: user, BizID: "k", Qty: 1, Path: api.PathDB, Exp: time.Now().Add(time.Minute).UnixMilli(),
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return o
}

func TestAddressThatIsTaken(t *testing.T) {
	s := serve(t, t.TempDir())
	for flag, hint := range map[string]string{"RUSHGATE_BACKEND_LISTEN": "--listen", "RUSHGATE_BACKEND_ADMIN": "backend.admin"} {
		var stderr strings.Builder
		env := []string{"RUSHGATE_DATA=" + t.TempDir(), "RUSHGATE_BACKEND_LISTEN=127.0.0.1:0", "RUSHGATE_BACKEND_ADMIN=127.0.0.1:0"}
		env = append(env, fmt.Sprintf("%s=%s", flag, s.orders))
		if code := run(t.Context(), nil, env, io.Discard, &stderr); code != 1 || !strings.Contains(stderr.String(), hint) {
			t.Errorf("%s: exit code %d, %s; want 1 and a hint", flag, code, stderr.String())
		}
	}
}

// A key that is there is never made anew: gateways sign with it.
func TestKeyMadeAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "ticket.key")
	if err := makeKey(file); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(file)
	if err != nil || len(strings.TrimSpace(string(first))) != 64 {
		t.Fatalf("a key of %d bytes, %v; want 64 hex digits", len(first), err)
	}
	if err := makeKey(file); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, first) {
		t.Errorf("the key changed: %v", err)
	}
	other := filepath.Join(t.TempDir(), "ticket.key")
	if err := makeKey(other); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(other); err != nil || bytes.Equal(second, first) {
		t.Errorf("two folders have one key: %v", err)
	}
}
