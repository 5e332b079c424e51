package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// answer is what a client got, read by a parser that is not fasthttp's.
type answer struct {
	status int
	header http.Header
	head   string // as it came
	body   string
	member problemMembers
}

// problemMembers are those of a problem, and of an order where that is what came.
type problemMembers struct {
	Type         string `json:"type"`
	Title        string `json:"title"`
	Status       int    `json:"status"`
	Code         string `json:"code"`
	Detail       string `json:"detail"`
	Scope        string `json:"scope"`
	State        string `json:"state"`
	StartsAt     int64  `json:"starts_at"`
	Now          int64  `json:"now"`
	RetryAfterMS *int64 `json:"retry_after_ms"`
	TraceID      string `json:"trace_id"`
	OrderID      string `json:"order_id"`
}

// request is one to come; a zero field is left out.
type request struct {
	peer   string // "127.0.0.1", who is trusted, where it is ""
	method string // "POST"
	path   string
	user   string
	key    string
	retry  bool
	fields []string // more lines
	body   string
}

// purchase of one 1001 by a user, under a key that is the user's name.
func purchase(user string) request { return request{path: "/seckill/1001", user: user, key: user} }

func get(path string) request { return request{method: "GET", path: path} }

func (r *request) text() string {
	var b strings.Builder
	method := r.method
	if method == "" {
		method = "POST"
	}
	b.WriteString(method + " " + r.path + " HTTP/1.1\r\nHost: shop.test\r\n")
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	line("X-User-Id", r.user)
	line("Idempotency-Key", r.key)
	if r.retry {
		line("Rushgate-Retry", "1")
	}
	for _, f := range r.fields {
		b.WriteString(f + "\r\n")
	}
	if r.body != "" || method == "POST" {
		b.WriteString("Content-Length: ")
		b.Write(fasthttp.AppendUint(nil, len(r.body)))
		b.WriteString("\r\n")
	}
	return b.String() + "\r\n" + r.body
}

func (g *gateway) send(r request) answer {
	g.t.Helper()
	return g.raw(r.peer, r.method, r.text())
}

// raw sends bytes over a connection of their own and reads one answer.
func (g *gateway) raw(peer, method, text string) answer {
	g.t.Helper()
	c := g.dial(peer)
	defer c.Close()
	return c.ask(method, text)
}

// conn is one client connection.
type conn struct {
	net.Conn
	t    testing.TB
	r    *bufio.Reader
	seen *bytes.Buffer
}

func (g *gateway) dial(peer string) *conn {
	g.t.Helper()
	if peer == "" {
		peer = "127.0.0.1"
	}
	c, err := g.ln.DialWithLocalAddr(net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(peer), 50000)))
	if err != nil {
		g.t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		g.t.Fatal(err)
	}
	seen := &bytes.Buffer{}
	return &conn{Conn: c, t: g.t, r: bufio.NewReader(io.TeeReader(c, seen)), seen: seen}
}

// ask sends bytes and reads one answer, to a request of that method.
func (c *conn) ask(method, text string) answer {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
	c.seen.Reset()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer to %.200q: %v", text, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("the answer to %.200q is cut: %v", text, err)
	}
	head, _, _ := strings.Cut(c.seen.String(), "\r\n\r\n")
	a := answer{status: resp.StatusCode, header: resp.Header, head: head, body: string(body)}
	if len(body) > 0 && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(body, &a.member); err != nil {
			c.t.Errorf("the body is no JSON: %v\n%s", err, body)
		}
	}
	return a
}
