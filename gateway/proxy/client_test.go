package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client is one client connection, spoken to in bytes.
type client struct {
	t testing.TB
	c net.Conn
	r *bufio.Reader
}

func (f *front) dial(t testing.TB) *client {
	t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{t, c, bufio.NewReader(c)}
}

// send does not mind a server that has closed: what it answered is in answer.
func (c *client) send(raw string) { _, _ = io.WriteString(c.c, raw) }

// answer reads one response to a request of this method.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("answer %d is cut: %v", resp.StatusCode, err)
	}
	return resp, string(body)
}

// wantClosed fails unless the server closes without a further byte.
func (c *client) wantClosed() {
	c.t.Helper()
	if b, err := c.r.ReadByte(); err == nil {
		rest, _ := c.r.Peek(c.r.Buffered())
		c.t.Fatalf("connection goes on: %q", string(b)+string(rest))
	} else if err != io.EOF {
		c.t.Fatalf("connection is not closed cleanly: %v", err)
	}
}

// follow sends a plain request on this connection and wants a plain answer.
func (c *client) follow(b *backend) {
	c.t.Helper()
	before := len(b.requests())
	c.send("GET /follow HTTP/1.1\r\n" + hostA + "\r\n")
	resp, body := c.answer(http.MethodGet)
	if resp.StatusCode != 200 || body != "ok" {
		c.t.Fatalf("follow-up: %d %q", resp.StatusCode, body)
	}
	got := b.requests()
	if len(got) != before+1 || !strings.HasPrefix(got[before], "GET /follow HTTP/1.1\r\n"+hostA) {
		c.t.Fatalf("upstream of the follow-up: %q", got[before:])
	}
}
