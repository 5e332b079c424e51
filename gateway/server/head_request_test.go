package server

import (
	"strconv"
	"testing"
)

// A HEAD is answered like a GET without its body, refused or not, and the next
// answer on the connection begins where it should.
func TestHeadIsAnsweredWithABody(t *testing.T) {
	g := open(t, nil)
	c := g.dial("")
	defer c.Close()
	for _, path := range []string{"/", "/items", "/items/1001", "/items/nope", "/nope", "/time"} {
		full := c.ask("GET", "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		bare := c.ask("HEAD", "HEAD "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		if bare.status != full.status || bare.body != "" {
			t.Errorf("%s: %d with %d bytes, want %d without", path, bare.status, len(bare.body), full.status)
		}
		if got := bare.header.Get("Content-Length"); got != strconv.Itoa(len(full.body)) {
			t.Errorf("%s: Content-Length %s, and a GET has %d bytes", path, got, len(full.body))
		}
		if got, want := bare.header.Get("Content-Type"), full.header.Get("Content-Type"); got != want {
			t.Errorf("%s: Content-Type %s, want %s", path, got, want)
		}
	}
	if a := c.ask("HEAD", "HEAD /seckill/1001 HTTP/1.1\r\nHost: a\r\n\r\n"); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("to buy: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
}
