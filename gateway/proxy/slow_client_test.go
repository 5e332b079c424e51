package proxy

import (
	"io"
	"testing"
	"time"
)

// TestSlowClient (25, 37): a request that does not arrive is answered 408 once
// Bounds.Read is over, and never reaches an upstream.
func TestSlowClient(t *testing.T) {
	b := startBackend(t, nil)
	bounds := testBounds
	bounds.Read = 100 * time.Millisecond
	f := startFront(t, bounds, Options{Servers: []string{b.addr}})
	for name, part := range map[string]string{
		"25/body of a known length": postA + "Content-Length: 50\r\n\r\nhello",
		"25/chunk":                  postA + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"25/chunk size":             postA + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"25/chunk extension":        postA + "Transfer-Encoding: chunked\r\n\r\n5;a",
		"25/trailer":                postA + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1\r\n",
		"25/request line":           "GET /",
		"25/fields":                 "GET / HTTP/1.1\r\nHost: a.test\r\nX-A: ",
		"37/all lines end in LF":    "GET / HTTP/1.1\nHost: a.test\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := f.dial(t)
			c.send(part)
			if resp, body := c.answer("POST"); resp.StatusCode != 408 {
				t.Fatalf("%d, want 408: %s", resp.StatusCode, body)
			}
			c.wantClosed()
		})
	}
	t.Run("second request of a connection", func(t *testing.T) {
		c := f.dial(t)
		c.follow(b)
		c.send("GET / HTTP/1.1\r\nHo")
		if resp, body := c.answer("GET"); resp.StatusCode != 408 {
			t.Fatalf("%d, want 408: %s", resp.StatusCode, body)
		}
		c.wantClosed()
	})
	if got := b.requests(); len(got) != 1 {
		t.Errorf("upstream: %q", got)
	}
}

// TestIdleClient: a connection without a request is closed after Bounds.Idle,
// and no answer to nothing is written.
func TestIdleClient(t *testing.T) {
	b := startBackend(t, nil)
	bounds := testBounds
	bounds.Idle = 50 * time.Millisecond
	f := startFront(t, bounds, Options{Servers: []string{b.addr}})
	c := f.dial(t)
	c.follow(b)
	c.wantClosed()
}

// TestDrippedRequest (65): a request cut at any place, or sent byte by byte, is the
// same request.
func TestDrippedRequest(t *testing.T) {
	b := startBackend(t, nil)
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	const request = "POST /a?b HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nX-T: 1\r\n\r\n"
	c := f.dial(t)
	send := func(parts ...string) string {
		t.Helper()
		for _, part := range parts {
			c.send(part)
		}
		if resp, body := c.answer("POST"); resp.StatusCode != 200 || body != "ok" {
			t.Fatalf("%q: %d %q", parts, resp.StatusCode, body)
		}
		got := b.requests()
		return got[len(got)-1]
	}
	whole := send(request)
	for i := 1; i < len(request); i++ {
		if got := send(request[:i], request[i:]); got != whole {
			t.Fatalf("cut at %d: %q, want %q", i, got, whole)
		}
	}
	bytes := make([]string, 0, len(request))
	for i := range request {
		bytes = append(bytes, request[i:i+1])
	}
	if got := send(bytes...); got != whole {
		t.Fatalf("byte by byte: %q, want %q", got, whole)
	}
}

// TestVanishedClient: a client that goes in the middle of a request leaves
// nothing upstream.
func TestVanishedClient(t *testing.T) {
	b := startBackend(t, nil)
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	for _, part := range []string{"GET", "GET / HTTP/1.1\r\nHost", postA + "Content-Length: 50\r\n\r\nhello", postA + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"} {
		c := f.dial(t)
		c.send(part)
		if err := c.c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c.r); err != nil { // until the server has closed
			t.Fatal(err)
		}
	}
	if got := b.requests(); len(got) != 0 {
		t.Errorf("upstream: %q", got)
	}
}
