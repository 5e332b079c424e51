package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// One connection too many is told so in the server's words and closed, and a
// place that becomes free is given to the next.
func TestTooManyConnections(t *testing.T) {
	const full = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfull"
	b := Bounds{Concurrency: 2, Full: []byte(full)}
	// fasthttp's workers outlive Shutdown by this.
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("served") }, MaxIdleWorkerDuration: 10 * time.Millisecond}
	Harden(s, b)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(Guard(ln, b)) }() // ends with Shutdown
	t.Cleanup(func() { _ = s.Shutdown() })

	first, second := dialed(t, ln), dialed(t, ln)
	if got := ask(t, first) + ask(t, second); got != "servedserved" {
		t.Fatalf("within the bound: %q", got)
	}
	if got, err := io.ReadAll(dialed(t, ln)); err != nil || string(got) != full {
		t.Fatalf("one too many: %q, %v", got, err)
	}
	if got := ask(t, second); got != "served" {
		t.Fatalf("the others meanwhile: %q", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		c := dialed(t, ln)
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); err == nil {
			if r, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && r.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the place of a closed connection was never given to another")
		}
	}
}

func dialed(t *testing.T, ln net.Listener) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", ln.Addr().String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask makes a request and returns the body.
func ask(t *testing.T, c net.Conn) string {
	t.Helper()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
