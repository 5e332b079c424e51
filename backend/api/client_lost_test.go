package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"rushgate/backend/api"
)

// wantLost holds that a call without an answer is unknown if it may have changed
// something, and plainly failed if not, and never both.
func wantLost(t *testing.T, c call, o api.Order, err error) {
	t.Helper()
	if errors.Is(err, api.ErrUnknown) != c.writes || errors.Is(err, api.ErrFailed) == c.writes {
		t.Errorf("got error %v, want unknown: %v", err, c.writes)
	}
	if o != (api.Order{}) {
		t.Errorf("got an order with the error: %+v", o)
	}
}

func wantRequests(t *testing.T, p *peer, want int32) {
	t.Helper()
	if got := p.requests.Load(); got != want {
		t.Errorf("the server saw %d requests, want %d", got, want)
	}
}

// busted are ways to answer that are none of the contract's.
func busted(c call) map[string]func(conn net.Conn) {
	good := c.body()
	head := func(status int, more string) string {
		return fmt.Sprintf("HTTP/1.1 %d X\r\n%s\r\n", status, more)
	}
	about := func(change func(o *api.Order)) func(conn net.Conn) {
		o := c.order
		change(&o)
		return func(conn net.Conn) { answer(conn, c.status, text(o)) }
	}
	plain := func(status int, body string) func(conn net.Conn) {
		return func(conn net.Conn) { answer(conn, status, body) }
	}
	raw := func(text string) func(conn net.Conn) {
		return func(conn net.Conn) { write(conn, text) }
	}
	return map[string]func(conn net.Conn){
		"nothing":             func(net.Conn) {},
		"reset":               func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) },
		"garbage":             raw("\x16\x03\x01\x02\x00 nothing of this is HTTP\r\n\r\n"),
		"head cut":            raw("HTTP/1.1 201 Created\r\nContent-Le"),
		"body cut":            raw(head(c.status, fmt.Sprintf("Content-Length: %d\r\n", len(good))) + good[:len(good)-1]),
		"body without length": raw(head(c.status, "Connection: close\r\n") + good[:len(good)-1]),
		"chunks cut":          raw(head(c.status, "Transfer-Encoding: chunked\r\n") + "5\r\n{\"ord"),
		"last chunk missing":  raw(head(c.status, "Transfer-Encoding: chunked\r\n") + fmt.Sprintf("%x\r\n%s\r\n", len(good), good)),
		"head without end":    raw(head(c.status, "X: "+strings.Repeat("x", 64<<10)+"\r\n")),
		"body without end":    raw(head(c.status, "Content-Length: 1073741824\r\n") + strings.Repeat(" ", 1<<10)),
		"only interim":        raw("HTTP/1.1 100 Continue\r\n\r\n"),

		"empty body":          plain(c.status, ""),
		"null":                plain(c.status, "null"),
		"empty object":        plain(c.status, "{}"),
		"no JSON":             plain(c.status, "<html>"),
		"JSON and more":       plain(c.status, good+good),
		"a list":              plain(c.status, "["+good+"]"),
		"qty as a string":     plain(c.status, strings.Replace(good, `"qty":1`, `"qty":"1"`, 1)),
		"another user's":      about(func(o *api.Order) { o.User = "u-8" }),
		"no number":           about(func(o *api.Order) { o.OrderID = "" }),
		"no state":            about(func(o *api.Order) { o.State = "" }),
		"unknown state":       about(func(o *api.Order) { o.State = "shipped" }),
		"refusal as an order": about(func(o *api.Order) { o.State = api.StateRefused }),

		"success of another kind": plain(401-c.status, good), // 200 for 201 and the other way round
		"accepted":                plain(202, good),
		"no content":              raw(head(204, "")),
		"not modified":            raw(head(304, "")),
		"redirect":                raw(head(307, "Location: /v1/orders\r\nContent-Length: 0\r\n")),
		"upgrade":                 raw(head(101, "")),
		"500":                     plain(500, `{"code":"internal_server_error"}`),
		"502":                     plain(502, "<html>bad gateway"),
		"504":                     plain(504, "<html>gateway time-out"),
		"503 of a proxy":          plain(503, "upstream connect error or disconnect/reset before headers"),
		"503 without a body":      plain(503, ""),
		"503 that is unknown":     plain(503, `{"code":"unknown_outcome"}`),
		"503 for another status":  plain(503, `{"code":"not_done","status":504}`),
		"404 of a proxy":          plain(404, "<html>not found"),
		"404 of another code":     plain(404, `{"code":"no_route"}`),
		"403 of a proxy":          plain(403, "<html>forbidden"),
		"409 without a code":      plain(409, `{}`),
		"409 of unknown code":     plain(409, `{"code":"too_late"}`),
		"409 without a state":     plain(409, `{"code":"order_state"}`),
		"410 without an epoch":    plain(410, `{"code":"stale"}`),
		"410 of another code":     plain(410, `{"code":"ended","epoch":4}`),
		"422 of a proxy":          plain(422, `{}`),
		"429":                     plain(429, `{"code":"limited"}`),
	}
}

func TestBustedAnswersAreUnknownAndNeverSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		for name, respond := range busted(c) {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
					respond(conn)
					return false
				})
				o, err := c.do(t.Context(), newClient(t, p.addr, p.addr))
				wantLost(t, c, o, err)
				wantRequests(t, p, 1)
			})
		}
	}
}

func TestAnswersAboutSomethingElseAreUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		for name, change := range map[string]func(o *api.Order){
			"item":   func(o *api.Order) { o.Item = "1002" },
			"biz_id": func(o *api.Order) { o.BizID = "biz-2" },
			"qty":    func(o *api.Order) { o.Qty = 2 },
			"number": func(o *api.Order) { o.OrderID = "78" },
		} {
			byTicket := c.name == "place" || c.name == "refuse"
			byKey := name == "biz_id" && c.name == "find"
			byNumber := name == "number" && (c.name == "get" || c.name == "pay" || c.name == "cancel")
			if !(byTicket && name != "number" || byKey || byNumber) {
				continue // nothing that was asked about
			}
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				other := c.order
				change(&other)
				p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
					answer(conn, c.status, text(other))
					return true
				})
				o, err := c.do(t.Context(), newClient(t, p.addr))
				wantLost(t, c, o, err)
			})
		}
	}
}

// The deadline may pass on a busy machine before the request is out, which is
// another case, so it grows until the server has seen the request.
func TestAnswerBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		t.Run(c.name+"/of the call", func(t *testing.T) {
			t.Parallel()
			for bound := 20 * time.Millisecond; !askedBeforeTheDeadline(t, c, bound, time.Hour); {
				bound *= 2
			}
		})
		t.Run(c.name+"/of the client", func(t *testing.T) {
			t.Parallel()
			for bound := 20 * time.Millisecond; !askedBeforeTheDeadline(t, c, time.Hour, bound); {
				bound *= 2
			}
		})
	}
}

func askedBeforeTheDeadline(t *testing.T, c call, ofCall, ofClient time.Duration) bool {
	t.Helper()
	p := startSilentPeer(t)
	client := newClientOf(t, api.ClientOptions{Servers: []string{p.addr}, Timeout: ofClient})
	ctx, cancel := context.WithTimeout(t.Context(), ofCall)
	defer cancel()
	o, err := c.do(ctx, client)
	if p.requests.Load() == 0 {
		return false
	}
	wantLost(t, c, o, err)
	wantRequests(t, p.peer, 1)
	return true
}

func TestCallGivenUpBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startSilentPeer(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-p.asked
				cancel()
			}()
			o, err := c.do(ctx, newClient(t, p.addr))
			wantLost(t, c, o, err)
			wantRequests(t, p.peer, 1)
		})
	}
}

// silentPeer takes requests and never answers.
type silentPeer struct {
	*peer
	asked chan struct{} // closed by the first request
}

func startSilentPeer(t *testing.T) silentPeer {
	t.Helper()
	asked, gone := make(chan struct{}), make(chan struct{})
	p := startPeer(t, func(_ net.Conn, n int, _ *http.Request) bool {
		if n == 1 {
			close(asked)
		}
		<-gone
		return false
	})
	// Runs before the peer's own clean-up, which waits for its connections.
	t.Cleanup(func() { close(gone) })
	return silentPeer{peer: p, asked: asked}
}

// A kept connection that the server has closed meanwhile looks, to whoever
// writes on it, like a server that died on the request.
func TestKeptConnectionClosedBetweenRequests(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{}, 1)
			p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
				answer(conn, c.status, c.body())
				_ = conn.Close()
				closed <- struct{}{}
				return false
			})
			client := newClient(t, p.addr)
			if _, err := c.do(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			<-closed
			o, err := c.do(t.Context(), client)
			wantLost(t, c, o, err)
			wantRequests(t, p, 1)

			if _, err := c.do(t.Context(), client); err != nil {
				t.Errorf("on a new connection: %v", err)
			}
			wantRequests(t, p, 2)
		})
	}
}

func TestKeptConnectionClosedOnTheRequest(t *testing.T) {
	t.Parallel()
	for _, c := range calls() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, func(conn net.Conn, n int, _ *http.Request) bool {
				if n == 2 {
					return false
				}
				answer(conn, c.status, c.body())
				return true
			})
			client := newClient(t, p.addr)
			if _, err := c.do(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			o, err := c.do(t.Context(), client)
			wantLost(t, c, o, err)
			wantRequests(t, p, 2)
			if got := p.conns.Load(); got != 1 {
				t.Errorf("%d connections, want the kept one only", got)
			}
		})
	}
}

// Bytes after an answer belong to nobody: the next call on that connection would
// read them as its own answer.
func TestSecondAnswerIsNotTheNextCalls(t *testing.T) {
	t.Parallel()
	c := calls()[0]
	p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
		two := fmt.Sprintf("HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(c.body()), c.body())
		write(conn, two+two)
		return true
	})
	client := newClient(t, p.addr)
	for range 2 {
		if _, err := c.do(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	wantRequests(t, p, 2)
	if got := p.conns.Load(); got != 2 {
		t.Errorf("%d connections, want a new one for the second call", got)
	}
}
