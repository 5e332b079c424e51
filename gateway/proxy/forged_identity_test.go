package proxy

import (
	"strings"
	"testing"
)

// TestForgedIdentity: what only the gateway may say never comes from a client.
func TestForgedIdentity(t *testing.T) {
	get := func(fields string) string { return "GET / HTTP/1.1\r\n" + hostA + fields + "\r\n" }
	trailer := func(announce, field string) string {
		return postA + announce + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n" + field + "\r\n\r\n"
	}
	mine := has("\r\nX-User-Id: buyer-7\r\n", "\r\nX-Forwarded-For: 192.0.2.1\r\n", "\r\nX-Forwarded-Proto: http\r\n",
		"\r\nX-Forwarded-Host: a.test\r\n", "\r\nX-Request-Id: req-1\r\n", "\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
		"\r\nVia: 1.1 rushgate-test\r\n")
	rows := []row{
		{name: "0/ours are there", send: get(""), status: []int{200}, upstream: 1, check: mine},
		{name: "34/unannounced identity in the trailer", send: trailer("", "X-User-Id: forged"), status: []int{200}, upstream: 1,
			check: both(mine, has("\r\n\r\nhello"), lacks("forged"))},
		{name: "34/announced identity in the trailer", send: trailer("Trailer: X-User-Id\r\n", "X-User-Id: forged"), status: []int{200}, upstream: 1,
			check: both(mine, lacks("forged", "trailer"))},
		{name: "34/signature in the trailer", send: trailer("Trailer: X-Signature\r\n", "X-Signature: forged"), status: []int{200}, upstream: 1,
			check: lacks("forged", "signature")},
		{name: "34/key in the trailer", send: trailer("", "Idempotency-Key: forged"), status: []int{200}, upstream: 1, check: lacks("forged")},
		{name: "54/close beside another option", send: get("Connection: close, X-Other\r\nX-Other: 1\r\n"), status: []int{200}, closes: true, upstream: 1,
			check: both(mine, lacks("x-other"))},
		refused("54/too many options", get("Connection: "+strings.Repeat("a,", 17)+"\r\n"), 400),
		refused("54/option is no token", get("Connection: a b\r\n"), 400),
		{name: "55/hop by hop", send: get("Connection: Foo, keep-alive\r\nFoo: 1\r\nKeep-Alive: timeout=9\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nProxy-Authorization: Basic eDp5\r\nAccept: kept\r\n"),
			status: []int{200}, upstream: 1, check: both(has("\r\nAccept: kept\r\n"), lacks("foo", "keep-alive", "proxy-", "trailers", "\nconnection:"))},
		{name: "55/named in a second line", send: get("Connection: keep-alive\r\nFoo: 1\r\nconnection: ,foo,\r\n"), status: []int{200}, upstream: 1, check: lacks("foo")},
		{name: "56/h2c", send: get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"), status: []int{200}, upstream: 1,
			check: lacks("upgrade", "h2c", "http2-settings")},
		{name: "56/websocket", send: get("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"), status: []int{200}, upstream: 1,
			check: lacks("upgrade:", "\nconnection:")},
		{name: "66/via is kept and ours added", send: get("Via: 1.0 other\r\n"), status: []int{200}, upstream: 1,
			check: has("\r\nVia: 1.0 other\r\n", "\r\nVia: 1.1 rushgate-test\r\n")},
		refused("66/loop", get("Via: 1.0 other, 1.1 RushGate-test (x)\r\n"), 508),
		refused("66/loop in a second line", get("Via: 1.0 other\r\nvia: HTTP/1.1\trushgate-test\r\n"), 508),
		{name: "66/another instance", send: get("Via: 1.1 rushgate-test2\r\n"), status: []int{200}, upstream: 1, check: has("Via: 1.1 rushgate-test2\r\n")},
	}
	for _, name := range []string{"Content-Length", "Host", "TE", "Transfer-Encoding", "Authorization", "Cookie", "Content-Type", "X-Forwarded-For", "X-Real-IP", "Expect"} {
		rows = append(rows, refused("33/trailer "+name, trailer("", name+": 1"), 400))
	}
	for _, name := range []string{
		"X-User-Id", "x-user-id", "X_User_Id", "x_user-id", "X-Forwarded-For", "X_Forwarded_For", "X-Forwarded-Anything", "X-Forwarded-Port", "Forwarded", "X-Real-IP", "X-Real_Ip",
		"Rushgate-Ticket", "Rushgate-Retry", "rushgate_ticket", "RUSHGATE-A-NAME-LONGER-THAN-ANY-IN-THE-TABLE", "X-Request-Id", "traceparent", "tracestate", "True-Client-IP", "CF-Connecting-IP",
		"X-Client-IP", "X-Cluster-Client-IP", "X-Original-URL", "X-Rewrite-URL", "Proxy",
	} {
		rows = append(rows, row{name: "0/dropped " + name, send: get(name + ": forged\r\n"), status: []int{200}, upstream: 1, check: both(mine, lacks("forged"))})
	}
	for _, name := range []string{
		"X-User-Id", "x_user_id", "X-Forwarded-For", "X-Forwarded-New", "Host", "Content-Length", "Authorization", "Cookie", "Rushgate-Ticket", "Idempotency-Key", "Via", "X-Request-Id", "traceparent", "Content-Type", "Max-Forwards",
	} {
		rows = append(rows, refused("54/nominated "+name, get("Connection: keep-alive, "+name+"\r\n"), 400))
	}
	runRows(t, rows)
}

// TestHeaderInjection (R10): a value that the gateway sets cannot end its line.
func TestHeaderInjection(t *testing.T) {
	b := startBackend(t, nil)
	for name, set := range map[string]func(*Own, string){
		"user":    func(o *Own, v string) { o.User = v },
		"address": func(o *Own, v string) { o.ClientIP = v },
		"scheme":  func(o *Own, v string) { o.Scheme = v },
		"id":      func(o *Own, v string) { o.RequestID = v },
		"trace":   func(o *Own, v string) { o.TraceParent = v },
	} {
		for _, v := range []string{"a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rb", "a\x00b"} {
			f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
			set(&f.own, v)
			c := f.dial(t)
			c.send("GET / HTTP/1.1\r\n" + hostA + "\r\n")
			if resp, _ := c.answer("GET"); resp.StatusCode != 400 {
				t.Errorf("%s %q: %d, want 400", name, v, resp.StatusCode)
			}
			c.wantClosed()
		}
	}
	if got := b.requests(); len(got) != 0 {
		t.Errorf("upstream: %q", got)
	}
}

// TestAnonymous: no identity means no field, whatever the client says.
func TestAnonymous(t *testing.T) {
	b := startBackend(t, nil)
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	f.own = Own{}
	c := f.dial(t)
	c.send("GET / HTTP/1.1\r\n" + hostA + "X-User-Id: forged\r\nX_USER_ID: forged\r\n\r\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if wrong := lacks("user", "x-forwarded-for", "x-request-id", "traceparent")(b.requests()...); wrong != "" {
		t.Errorf("%s in %q", wrong, b.requests())
	}
	c.follow(b)
}
