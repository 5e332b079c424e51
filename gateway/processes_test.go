package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
	"rushgate/lua"
	"rushgate/lua/luatest"
)

// built is the folder of both programs, "" until a test has asked for them.
var built string

// programs builds both programs once, as they would be deployed, but for the race
// detector.
var programs = sync.OnceValues(func() (folder string, err error) {
	if built, err = os.MkdirTemp("", "rushgate-programs-"); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-race", "-o", built+"/", "rushgate/gateway", "rushgate/backend").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return built, err
})

// node is a gateway or a backend in a process of its own.
type node struct {
	t    *testing.T
	cmd  *exec.Cmd
	said *transcript
	done chan struct{}
	once sync.Once
}

// startNode starts a program with a configuration file and further RUSHGATE_*
// variables, and waits until it has said ready.
func startNode(t *testing.T, program, file, ready string, env map[string]string) *node {
	t.Helper()
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, said: newTranscript(), done: make(chan struct{})}
	n.cmd = exec.Command(filepath.Join(folder, program), "--config", file)
	n.cmd.Env = append(os.Environ(), "RUSHGATE_DATA="+t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(env)) {
		n.cmd.Env = append(n.cmd.Env, name+"="+env[name])
	}
	n.cmd.Stdout, n.cmd.Stderr = n.said, n.said
	n.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = n.cmd.Wait(); close(n.done) }()
	t.Cleanup(func() { n.end(syscall.SIGTERM) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !n.said.wait(ctx, n.done, ready) {
		t.Fatalf("%s did not say %q; it said:\n%s", program, ready, n.said)
	}
	return n
}

// runBackend runs a command of the backend to its end.
func runBackend(t *testing.T, args ...string) {
	t.Helper()
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, filepath.Join(folder, "backend"), args...).CombinedOutput(); err != nil {
		t.Fatalf("backend %v: %v\n%s", args, err, out)
	}
}

// end stops the process, hard with SIGKILL, and waits until it is gone.
func (n *node) end(how syscall.Signal) {
	n.once.Do(func() {
		_ = n.cmd.Process.Signal(how) // it may have ended already
		select {
		case <-n.done:
		case <-time.After(patience):
			_ = n.cmd.Process.Kill()
			<-n.done
			n.t.Errorf("%s did not end on %v; it said:\n%s", n.cmd.Path, how, n.said)
		}
		if n.t.Failed() {
			n.t.Logf("%s said:\n%s", n.cmd.Path, n.said)
		}
		if strings.Contains(n.said.String(), "DATA RACE") {
			n.t.Errorf("%s has a data race:\n%s", n.cmd.Path, n.said)
		}
	})
}

// address finds what the program said it listens on, after a word.
func (n *node) address(word string) string {
	n.t.Helper()
	lines := bufio.NewScanner(strings.NewReader(n.said.String()))
	for lines.Scan() {
		after, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), word)
		if _, url, found := strings.Cut(after, "http://"); ok && found {
			host, _, _ := strings.Cut(url, "/")
			return host
		}
	}
	n.t.Fatalf("%s said no address of %q:\n%s", n.cmd.Path, word, n.said)
	return ""
}

// fleet is gateways and backends as processes of their own, on one Redis and one
// database server.
type fleet struct {
	t        *testing.T
	file     string
	redis    *luatest.Server
	store    *store.Store // a connection of the test's own
	filter   lua.Filter   // too
	backends []*node
	gateways []*node
	doors    []*door // one to each gateway
}

// fleetFile is the configuration that all nodes of a fleet share.
const fleetFile = `
listen: "127.0.0.1:0"
backend: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}
admin: {listen: "127.0.0.1:0"}
redis: {mode: single, addrs: [%q]}
sql: {driver: %s, dsn: %q}
tickets: {keys: [{id: k1, secret_file: %q}]}
upstreams: {backend: {servers: [%s]}}
%s
`

func openFleet(t *testing.T, db *storetest.Server, gateways, backends int, more string) *fleet {
	t.Helper()
	f := &fleet{t: t, redis: luatest.Start(t)}
	f.store = openStore(t, db)
	f.filter = lua.NewRedis(lua.RedisOptions{Client: f.redis.Client()})
	folder := t.TempDir()
	key := filepath.Join(folder, "ticket.key")
	write(t, key, secret)
	// A backend needs no list of backends, and prints its address only when it runs.
	f.file = filepath.Join(folder, "rushgate.yaml")
	config := func(servers ...string) string {
		return fmt.Sprintf(fleetFile, f.redis.Addr(), db.Driver(), db.DSN(), key, strings.Join(servers, ", "), more)
	}
	write(t, f.file, config(`"127.0.0.1:1"`))
	var servers []string
	for range backends {
		b := startNode(t, "backend", f.file, "serves gateways", f.env())
		f.backends = append(f.backends, b)
		servers = append(servers, fmt.Sprintf("%q", b.address("orders")))
	}
	write(t, f.file, config(servers...))
	for range gateways {
		g := startNode(t, "gateway", f.file, "is open", f.env())
		f.gateways = append(f.gateways, g)
		f.doors = append(f.doors, doorOf(t, g.address("sale page")))
	}
	return f
}

// env passes on what the whole run is to be done with.
func (f *fleet) env() map[string]string {
	if mode := os.Getenv(lockMode); mode != "" {
		return map[string]string{lockMode: mode}
	}
	return nil
}

func (f *fleet) left(item string) int64 { return leftOf(f.t, f.store, item) }

func openStore(t *testing.T, db *storetest.Server) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Driver: db.Driver(), DSN: db.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// transcript keeps what a process says.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed at the next write
}

var _ io.Writer = (*transcript)(nil)

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.more)
	s.more = make(chan struct{})
	return s.text.Write(b)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// wait reports whether the process says the words before it ends or ctx does.
func (s *transcript) wait(ctx context.Context, ended <-chan struct{}, words string) bool {
	for {
		s.mu.Lock()
		said, more := strings.Contains(s.text.String(), words), s.more
		s.mu.Unlock()
		if said {
			return true
		}
		select {
		case <-more:
		case <-ended:
			return strings.Contains(s.String(), words)
		case <-ctx.Done():
			return false
		}
	}
}
