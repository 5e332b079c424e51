package proxy

import (
	"bufio"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/valyala/fasthttp"
)

// fetch sends one GET to an upstream.
func fetch(u *Upstreams, name string) error {
	var ctx fasthttp.RequestCtx
	if err := ctx.Request.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\n" + hostA + "\r\n"))); err != nil {
		return err
	}
	var h Head
	if f := h.Read(&ctx.Request.Header, 100); f != nil {
		return f
	}
	if err := u.Forward(&ctx, &h, name, testOwn); err != nil {
		return err
	}
	if body := string(ctx.Response.Body()); body != "ok" {
		return errors.New("answered " + body)
	}
	return nil
}

// TestReplacedUpstreamLosesItsPools: what a change does not touch keeps its
// connections; what it replaces or removes is drained, and a request in flight
// there ends as it would.
func TestReplacedUpstreamLosesItsPools(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	kept := startBackend(t, nil)
	slow := startBackend(t, func(_, _ int) (string, bool) {
		held <- struct{}{}
		<-release
		return okReply, false
	})
	options := func(addr string, timeout time.Duration) Options {
		return Options{Servers: []string{addr}, Timeout: timeout, Idle: patience}
	}
	old, err := New("test", map[string]Options{
		"kept": options(kept.addr, patience), "changed": options(slow.addr, patience), "gone": options(kept.addr, patience),
	}, func() time.Time { return testNow })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kept", "gone"} {
		if err := fetch(old, name); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan error, 1)
	go func() { answered <- fetch(old, "changed") }()
	<-held

	next, err := old.With(map[string]Options{"kept": options(kept.addr, patience), "changed": options(slow.addr, patience/2)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close)
	old.Retire(next)
	for name, want := range map[string]int{"kept": 1, "changed": 1, "gone": 0} { // one in flight
		if got := old.groups[name].servers[0].pool.ConnsCount(); got != want {
			t.Errorf("%s: %d connections after the change, want %d", name, got, want)
		}
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
	if n := old.groups["changed"].servers[0].pool.ConnsCount(); n != 0 {
		t.Errorf("%d connections are kept to an upstream that was replaced", n)
	}
	if next.groups["kept"] != old.groups["kept"] || next.groups["changed"] == old.groups["changed"] || next.Has("gone") {
		t.Error("the groups are not those that were asked for")
	}
	if err := fetch(next, "kept"); err != nil || kept.connections() != 2 { // one of them was of "gone"
		t.Errorf("%v over connection %d", err, kept.connections())
	}
	if err := fetch(old, "gone"); err != nil { // by a request that found it before the change
		t.Errorf("a late request: %v", err)
	}
	if n := old.groups["gone"].servers[0].pool.ConnsCount(); n != 0 {
		t.Errorf("the late request left %d connections", n)
	}
}

// TestReplacedUpstreamStaysInMemory: a thousand changes leave one pool.
func TestReplacedUpstreamStaysInMemory(t *testing.T) {
	b := startBackend(t, nil)
	groups := func(i int) map[string]Options {
		return map[string]Options{"app": {Servers: []string{b.addr}, Timeout: patience + time.Duration(i), Idle: patience}}
	}
	ups, err := New("test", groups(0), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var pools []weak.Pointer[fasthttp.HostClient]
	for i := range 1000 {
		if i%100 == 0 {
			if err := fetch(ups, "app"); err != nil {
				t.Fatal(err)
			}
		}
		pools = append(pools, weak.Make(ups.groups["app"].servers[0].pool))
		next, err := ups.With(groups(i + 1))
		if err != nil {
			t.Fatal(err)
		}
		ups.Retire(next)
		ups = next
	}
	ups.Close()
	left := 0
	runtime.GC()
	for _, p := range pools {
		if p.Value() != nil {
			left++
		}
	}
	if left > 10 { // fasthttp's cleaner holds a pool that was used until it looks again
		t.Errorf("%d of 1000 pools are still there", left)
	}
}

// TestBoundsChangeWhileOpen: a body's bound holds for requests whose head comes after
// it changed, on connections that were open before too.
func TestBoundsChangeWhileOpen(t *testing.T) {
	b := startBackend(t, nil)
	bounds := testBounds
	most := make(chan int, 1)
	most <- 1000
	bounds.BodyNow = func() int {
		n := <-most
		most <- n
		return n
	}
	f := startFront(t, bounds, Options{Servers: []string{b.addr}})
	c := f.dial(t)
	post := func(n int) string {
		return postA + "Content-Length: " + strconv.Itoa(n) + "\r\n\r\n" + strings.Repeat("x", n)
	}
	set := func(n int) {
		<-most
		most <- n
	}
	send := func(n, want int) {
		t.Helper()
		c.send(post(n))
		if resp, body := c.answer("POST"); resp.StatusCode != want {
			t.Errorf("%d bytes: %d %s, want %d", n, resp.StatusCode, body, want)
		}
	}
	send(1000, 200)
	set(1 << 20)
	send(1<<20, 200)
	set(10)
	send(11, 413)
}
