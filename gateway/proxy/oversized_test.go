package proxy

import (
	"net/http"
	"strings"
	"testing"
)

// TestOversized (62, 29): every size is bounded and the answer says which one
// it was, also to a client that is still sending.
func TestOversized(t *testing.T) {
	get := func(fields string) string { return "GET / HTTP/1.1\r\n" + hostA + fields + "\r\n" }
	chunk := "1;" + strings.Repeat("x", 4000) + "\r\nx\r\n"
	runRows(t, []row{
		refused("62/field of 64 KiB", get("X-A: "+strings.Repeat("x", 64<<10)+"\r\n"), 431),
		refused("62/10000 fields", get(strings.Repeat("X-A: 1\r\n", 10000)), 431),
		refused("62/101 fields", get(strings.Repeat("X-A: 1\r\n", 100)), 431),
		{name: "62/100 fields", send: get(strings.Repeat("X-A: 1\r\n", 99)), status: []int{200}, upstream: 1},
		refused("62/target of 64 KiB", "GET /"+strings.Repeat("x", 64<<10)+" HTTP/1.1\r\n"+hostA+"\r\n", 414),
		refused("62/target of 64 KiB behind empty lines", "\r\n\r\nGET /"+strings.Repeat("x", 64<<10)+" HTTP/1.1\r\n"+hostA+"\r\n", 414),
		{name: "62/target of 8000 bytes", send: "GET /" + strings.Repeat("x", 8000) + " HTTP/1.1\r\n" + hostA + "\r\n", status: []int{200}, upstream: 1},
		{name: "62/body of the bound", send: postA + "Content-Length: 65536\r\n\r\n" + strings.Repeat("x", 64<<10), status: []int{200}, upstream: 1},
		refused("62/length over the bound", postA+"Content-Length: 65537\r\n\r\n", 413),
		refused("62/body of 4 MiB, all sent", postA+"Content-Length: 4194304\r\n\r\n"+strings.Repeat("x", 4<<20), 413),
		refused("62/chunk over the bound", postA+"Transfer-Encoding: chunked\r\n\r\n10001\r\n"+strings.Repeat("x", 0x10001)+"\r\n0\r\n\r\n", 413),
		refused("62/chunks over the bound", postA+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n", 17)+"0\r\n\r\n", 413),
		refused("62/trailer of 64 KiB", postA+"Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: "+strings.Repeat("x", 64<<10)+"\r\n\r\n", 431),
		refused("29/chunk extension of 8 MiB", postA+"Transfer-Encoding: chunked\r\n\r\n5;"+strings.Repeat("x", 8<<20)+"\r\nhello\r\n0\r\n\r\n", 400).saying("without extensions"),
		refused("29/many chunk extensions", postA+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat(chunk, 100)+"0\r\n\r\n", 400).saying("without extensions"),
		{name: "29/chunks of one byte", send: postA + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 5000) + "0\r\n\r\n", status: []int{200}, upstream: 1},
	})
}

// TestBudgetIsPerRequest: a connection may carry any number of requests that
// are each within the bounds.
func TestBudgetIsPerRequest(t *testing.T) {
	b := startBackend(t, nil)
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	c := f.dial(t)
	for range 10 {
		c.send(postA + "Content-Length: 60000\r\n\r\n" + strings.Repeat("x", 60000))
		if resp, body := c.answer(http.MethodPost); resp.StatusCode != 200 {
			t.Fatalf("%d: %s", resp.StatusCode, body)
		}
	}
	c.send("GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\n" + hostA + "\r\n")
	if resp, body := c.answer(http.MethodGet); resp.StatusCode != 414 {
		t.Fatalf("%d, want 414: %s", resp.StatusCode, body)
	}
}
