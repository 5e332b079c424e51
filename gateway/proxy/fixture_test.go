package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// These two end by themselves: fasthttp's clock for the Date field with
		// the process, a pool's cleaner one idle time after its last connection.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
	)
}

// patience bounds every wait of a test; none is meant to reach it.
const patience = 10 * time.Second

const hostA = "Host: a.test\r\n"

const okReply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// backend is a raw server that records what it was sent, byte for byte, and
// answers by its script.
type backend struct {
	ln   net.Listener
	wg   sync.WaitGroup
	addr string
	// reply answers the n-th request of a connection, counted from 1.
	// hangUp closes the connection behind the reply.
	reply func(conn, n int) (reply string, hangUp bool)

	mu    sync.Mutex
	got   []string
	conns []net.Conn
}

func startBackend(t testing.TB, reply func(conn, n int) (string, bool)) *backend {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if reply == nil {
		reply = func(int, int) (string, bool) { return okReply, false }
	}
	b := &backend{ln: ln, addr: ln.Addr().String(), reply: reply}
	b.wg.Go(b.accept)
	t.Cleanup(func() {
		ln.Close()
		b.hangUpAll()
		b.wg.Wait()
	})
	return b
}

func (b *backend) accept() {
	for conn := 1; ; conn++ {
		c, err := b.ln.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.conns = append(b.conns, c)
		b.mu.Unlock()
		b.wg.Go(func() { b.serve(c, conn) })
	}
}

// serve reads requests with net/http's parser and keeps the bytes that each
// took.
func (b *backend) serve(c net.Conn, conn int) {
	defer c.Close()
	var raw bytes.Buffer
	r := bufio.NewReader(io.TeeReader(c, &raw))
	for n := 1; ; n++ {
		req, err := http.ReadRequest(r)
		if err == nil {
			_, err = io.Copy(io.Discard, req.Body)
		}
		took := string(raw.Next(raw.Len() - r.Buffered()))
		if err != nil {
			if took != "" {
				b.record("UNREADABLE " + took)
			}
			return
		}
		b.record(took)
		reply, hangUp := b.reply(conn, n)
		if _, err := io.WriteString(c, reply); err != nil || hangUp {
			return
		}
	}
}

func (b *backend) record(raw string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, raw)
}

func (b *backend) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.got...)
}

// connections returns how many were accepted.
func (b *backend) connections() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.conns)
}

func (b *backend) hangUpAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		c.Close()
	}
}

var testBounds = Bounds{
	Read: patience, Write: patience, Idle: patience,
	HeaderBytes: 16 << 10, BodyBytes: 64 << 10, Concurrency: 1000,
	OnError: refuse,
}

var testOwn = Own{
	User: "buyer-7", ClientIP: "192.0.2.1", Scheme: "http", RequestID: "req-1",
	TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}

// front is a hardened server whose handler reads, routes and forwards.
type front struct {
	addr string
	own  Own
	ups  *Upstreams
}

func startFront(t testing.TB, b Bounds, o Options) *front {
	t.Helper()
	f := &front{own: testOwn, ups: newUpstreams(t, o)}
	router, err := NewRouter([]Route{{"/", "app"}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.addr = ln.Addr().String()
	// fasthttp's workers outlive Shutdown by this.
	s := &fasthttp.Server{Handler: f.handler(router), MaxIdleWorkerDuration: 10 * time.Millisecond}
	Harden(s, b)
	done := make(chan error, 1)
	go func() { done <- s.Serve(Guard(ln, b)) }()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *front) handler(router *Router) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		var h Head
		if fault := h.Read(&ctx.Request.Header, 100); fault != nil {
			refuse(ctx, fault)
			return
		}
		name, ok := router.Match(h.Path())
		if !ok {
			ctx.SetStatusCode(http.StatusNotFound)
			return
		}
		err := f.ups.Forward(ctx, &h, name, f.own)
		var fault *Fault
		switch {
		case err == nil:
		case errors.As(err, &fault):
			refuse(ctx, fault)
		case errors.Is(err, ErrTimeout):
			ctx.SetStatusCode(http.StatusGatewayTimeout)
		default:
			ctx.SetStatusCode(http.StatusBadGateway)
		}
	}
}

func refuse(ctx *fasthttp.RequestCtx, f *Fault) {
	ctx.Response.Reset()
	ctx.SetStatusCode(f.Status)
	ctx.SetContentType("application/problem+json")
	fmt.Fprintf(ctx, `{"code":%q,"detail":%q}`, f.Code, f.Detail)
	ctx.SetConnectionClose()
}

// newUpstreams has one upstream, "app", whose time stands still.
func newUpstreams(t testing.TB, o Options) *Upstreams {
	t.Helper()
	o.Idle = patience
	ups, err := New("test", map[string]Options{"app": o}, func() time.Time { return testNow })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ups.Close)
	return ups
}

var testNow = time.Unix(1000, 0)

// awaitDisturbance returns when something, a byte or the end, has arrived on
// the pooled connection of the only server.
func (u *Upstreams) awaitDisturbance(t testing.TB) {
	t.Helper()
	pool := u.groups["app"].servers[0].pool
	c, err := pool.AcquireConn(time.Second, false)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); quiet(c.Conn()); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("nothing arrived")
		}
	}
	pool.ReleaseConn(c)
}
