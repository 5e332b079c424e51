package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestBrokenUpstream (R1 to R9): the backend misbehaves in its first answer.
// The client gets a whole answer or an honest 502, the request was sent once,
// and the next one gets its own answer.
func TestBrokenUpstream(t *testing.T) {
	const evilReply = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for _, tt := range []struct {
		name   string
		reply  string
		hangUp bool
		method string // GET if empty
		status int
		body   string
		head   string // must stand in the head of the client's answer, if not empty
		fresh  bool   // the next request must not use this connection
	}{
		{name: "R1/two lengths", reply: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 20\r\n\r\nok" + evilReply, status: 502, fresh: true},
		{name: "R1/the same length twice", reply: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", status: 502, fresh: true},
		{name: "R1/length then coding", reply: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 502, fresh: true},
		{name: "R1/coding then length", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", status: 502, fresh: true},
		{name: "R1/length list", reply: "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", status: 502, fresh: true},
		{name: "R1/signed length", reply: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", status: 502, fresh: true},
		{name: "R1/huge length", reply: "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551618\r\n\r\nok", status: 502, fresh: true},
		{name: "R1/unknown coding", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", status: 502, fresh: true},
		{name: "R1/coding in HTTP 1.0", reply: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", hangUp: true, status: 502, fresh: true},
		{name: "R1/length with a space before the colon", reply: "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", status: 502, fresh: true},
		{name: "R1/bad chunk size", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n", status: 502, fresh: true},
		{name: "R2/folded field", reply: "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok", status: 502, fresh: true},
		{name: "R2/LF line", reply: "HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 2\r\n\r\nok", status: 502, fresh: true},
		{name: "R2/all lines end in LF", reply: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", status: 502, fresh: true},
		{name: "R2/NUL in a value", reply: "HTTP/1.1 200 OK\r\nX-A: 1\x00\r\nContent-Length: 2\r\n\r\nok", status: 502, fresh: true},
		{name: "R2/no HTTP", reply: "SSH-2.0-x\r\n\r\n", status: 502, fresh: true},
		{name: "R2/empty line first", reply: "\r\n" + okReply, status: 502, fresh: true},
		{name: "R2/status 99", reply: "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n", status: 502, fresh: true},
		{name: "R2/status 600", reply: "HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n", status: 502, fresh: true},
		{name: "R2/head of 20 KiB", reply: "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 20<<10) + "\r\nContent-Length: 2\r\n\r\nok", status: 502, fresh: true},
		{name: "R4/body cut", reply: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 50), hangUp: true, status: 502, fresh: true},
		{name: "R4/cut in a chunk", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", hangUp: true, status: 502, fresh: true},
		{name: "R4/cut between chunks", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", hangUp: true, status: 502, fresh: true},
		{name: "R4/cut in the last chunk", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", hangUp: true, status: 502, fresh: true},
		{name: "R4/cut in the head", reply: "HTTP/1.1 200 OK\r\nContent-Le", hangUp: true, status: 502, fresh: true},
		{name: "R4/no answer", hangUp: true, status: 502, fresh: true},
		{name: "R4/no answer to a POST", hangUp: true, method: "POST", status: 502, fresh: true},
		{name: "R4/body over the bound", reply: "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70000), status: 502, fresh: true},
		{name: "R6/204 with a body", reply: "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil", status: 204, fresh: true},
		{name: "R6/304 with a body", reply: "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 4\r\n\r\nevil", status: 304, head: "\r\nEtag: \"1\"\r\n", fresh: true},
		{name: "R6/HEAD with a body", reply: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", method: "HEAD", status: 200, head: "\r\nContent-Length: 4\r\n", fresh: true},
		{name: "R6/HEAD", reply: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", method: "HEAD", status: 200, head: "\r\nContent-Length: 4\r\n"},
		{name: "R6/HEAD, chunked", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", method: "HEAD", status: 200},
		{name: "R6/a second answer behind the first", reply: okReply + evilReply, status: 200, body: "ok", fresh: true},
		{name: "R6/103 with a body", reply: "HTTP/1.1 103 Early Hints\r\nContent-Length: 4\r\n\r\nevil" + okReply, status: 502, fresh: true},
		{name: "R7/103 first", reply: "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + okReply, status: 200, body: "ok"},
		{name: "R7/100 unasked", reply: "HTTP/1.1 100 Continue\r\n\r\n" + okReply, status: 200, body: "ok"},
		{name: "R7/100 and then nothing", reply: "HTTP/1.1 100 Continue\r\n\r\n", hangUp: true, status: 502, fresh: true},
		{name: "R7/nine interim answers", reply: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 9) + okReply, status: 502, fresh: true},
		{name: "R7/101 unasked", reply: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", status: 502, fresh: true},
		{name: "55/hop by hop", reply: "HTTP/1.1 200 OK\r\nConnection: Foo, keep-alive\r\nFoo: evil\r\nKeep-Alive: timeout=evil\r\nProxy-Authenticate: evil\r\nUpgrade: evil\r\nTrailer: X-T\r\nX-A: 1\r\nX-A: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok",
			status: 200, body: "ok", head: "\r\nX-A: 1\r\nX-A: 2\r\n"},
		{name: "0/cookies", reply: "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nContent-Length: 2\r\nset-cookie: a=2; Path=/x\r\n\r\nok",
			status: 200, body: "ok", head: "\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: a=2; Path=/x\r\n"},
		{name: "55/trailer", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2;x=evil\r\nok\r\n0\r\nX-T: evil\r\n\r\n", status: 200, body: "ok", head: "\r\nContent-Length: 2\r\n"},
		{name: "0/end of the connection frames the body", reply: "HTTP/1.1 200 OK\r\n\r\nok", hangUp: true, status: 200, body: "ok", head: "\r\nContent-Length: 2\r\n", fresh: true},
		{name: "0/HTTP 1.0", reply: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", status: 200, body: "ok", fresh: true},
		{name: "0/close", reply: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", status: 200, body: "ok", fresh: true},
		{name: "0/status of its own", reply: "HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\nContent-Type: text/x\r\n\r\nok", status: 418, body: "ok", head: "\r\nContent-Type: text/x\r\n"},
		{name: "0/no reason phrase", reply: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", status: 200, body: "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := startBackend(t, func(conn, n int) (string, bool) {
				if conn == 1 && n == 1 {
					return tt.reply, tt.hangUp
				}
				return okReply, false
			})
			f := startFront(t, testBounds, Options{Servers: []string{b.addr}, MaxBody: 64 << 10})
			c := f.dial(t)
			method := tt.method
			if method == "" {
				method = http.MethodGet
			}
			var seen bytes.Buffer
			c.r.Reset(io.TeeReader(c.c, &seen))
			c.send(method + " / HTTP/1.1\r\n" + hostA + "\r\n")
			resp, body := c.answer(method)
			if resp.StatusCode != tt.status || body != tt.body {
				t.Fatalf("%d %q, want %d %q", resp.StatusCode, body, tt.status, tt.body)
			}
			if !strings.Contains(seen.String(), tt.head) || strings.Contains(seen.String(), "evil") {
				t.Fatalf("answer: %q", seen.String())
			}
			for _, name := range []string{"\r\nContent-Type:", "\r\nServer:"} {
				if strings.Contains(seen.String(), name) != strings.Contains(tt.reply, name) {
					t.Fatalf("%q is not the upstream's: %q", name, seen.String())
				}
			}
			if got := b.requests(); len(got) != 1 {
				t.Fatalf("%d requests upstream, want 1: %q", len(got), got)
			}
			c.follow(b)
			want := 1
			if tt.fresh {
				want = 2
			}
			if got := b.connections(); got != want {
				t.Errorf("%d connections upstream, want %d", got, want)
			}
		})
	}
}

// TestRetirement: a pooled connection is given up before the other end does.
func TestRetirement(t *testing.T) {
	s := &server{o: Options{Idle: 4 * time.Second, Age: time.Minute}}
	c, other := net.Pipe()
	defer c.Close()
	defer other.Close()
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		created, used time.Duration // ago
		want          bool
	}{
		{3 * time.Second, 3 * time.Second, true},
		{59 * time.Second, 0, true},
		{5 * time.Second, 4 * time.Second, false},
		{60 * time.Second, 0, false},
	} {
		if got := s.usable(c, now, now.Add(-tt.created), now.Add(-tt.used)); got != tt.want {
			t.Errorf("created %v and used %v ago: %v, want %v", tt.created, tt.used, got, tt.want)
		}
	}
}

// TestSilentUpstream: no answer in time is told as such, once.
func TestSilentUpstream(t *testing.T) {
	silent := make(chan struct{})
	b := startBackend(t, func(int, int) (string, bool) {
		<-silent
		return "", true
	})
	t.Cleanup(func() { close(silent) })
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}, Timeout: 100 * time.Millisecond})
	c := f.dial(t)
	c.send(postA + "Content-Length: 5\r\n\r\nhello")
	if resp, _ := c.answer("POST"); resp.StatusCode != 504 {
		t.Errorf("%d, want 504", resp.StatusCode)
	}
	if got := b.requests(); len(got) != 1 {
		t.Errorf("upstream: %q", got)
	}
}

// TestRetiredConnection (R9): a server that closes an idle connection costs no
// request, because the connection is looked at first. One that closes it as the
// request arrives does, and the request is not sent again.
func TestRetiredConnection(t *testing.T) {
	b := startBackend(t, func(_, n int) (string, bool) { return okReply, n == 2 })
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	c := f.dial(t)
	c.follow(b)
	c.follow(b) // closed behind this answer
	f.ups.awaitDisturbance(t)
	c.follow(b) // so this one takes another connection
	if n := b.connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestPOSTIsNotSentAgain(t *testing.T) {
	b := startBackend(t, func(conn, n int) (string, bool) {
		if conn == 1 && n == 2 {
			return "", true
		}
		return okReply, false
	})
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	c := f.dial(t)
	c.follow(b)
	c.send(postA + "Content-Length: 5\r\n\r\nhello")
	if resp, _ := c.answer("POST"); resp.StatusCode != 502 {
		t.Errorf("%d, want 502", resp.StatusCode)
	}
	if got := b.requests(); len(got) != 2 {
		t.Errorf("upstream: %q", got)
	}
	c.follow(b)
}

// TestUnaskedBytes: bytes on an idle connection are no answer to the next
// request.
func TestUnaskedBytes(t *testing.T) {
	b := startBackend(t, nil)
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	c := f.dial(t)
	c.follow(b)
	b.mu.Lock()
	pooled := b.conns[0]
	b.mu.Unlock()
	if _, err := io.WriteString(pooled, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"); err != nil {
		t.Fatal(err)
	}
	f.ups.awaitDisturbance(t)
	c.follow(b)
	if n := b.connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// TestBusyUpstream: over MaxConns the answer is at once that nothing was sent.
func TestBusyUpstream(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	b := startBackend(t, func(_, n int) (string, bool) {
		if n == 1 {
			close(arrived)
			<-release
		}
		return okReply, false
	})
	ups := newUpstreams(t, Options{Servers: []string{b.addr}, MaxConns: 1})
	first := make(chan error, 1)
	go func() { first <- exchangeOnce(ups) }()
	<-arrived
	if err := exchangeOnce(ups); !isErr(err, ErrBusy, ErrUnreachable) {
		t.Errorf("second: %v, want ErrBusy", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := exchangeOnce(ups); err != nil {
		t.Errorf("third: %v", err)
	}
}

// refusingAddr is an address where nobody listens.
func refusingAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// stuckConn takes some bytes and then fails.
type stuckConn struct {
	net.Conn
	takes int
	err   error
}

func (c stuckConn) Write(p []byte) (int, error) { return min(c.takes, len(p)), c.err }
func (c stuckConn) SetDeadline(time.Time) error { return nil }

// TestPartlySent: only if not a single byte went out is the request known to
// be not done.
func TestPartlySent(t *testing.T) {
	for _, tt := range []struct {
		takes     int
		err, want error
	}{
		{0, io.ErrClosedPipe, ErrUnreachable},
		{0, os.ErrDeadlineExceeded, ErrUnreachable},
		{1, io.ErrClosedPipe, ErrBroken},
		{1, os.ErrDeadlineExceeded, ErrTimeout},
	} {
		reusable, err := newServer("127.0.0.1:1", Options{}.withDefaults()).talk(stuckConn{takes: tt.takes, err: tt.err}, &trip{request: []byte("GET /")})
		for _, e := range []error{ErrUnreachable, ErrBroken, ErrTimeout} {
			if errors.Is(err, e) != (e == tt.want) { //nolint:errorlint // which of the three, not what it wraps
				t.Errorf("%d bytes, then %v: %v, want %v", tt.takes, tt.err, err, tt.want)
			}
		}
		if reusable {
			t.Error("the connection is used again")
		}
	}
}
