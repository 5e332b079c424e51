package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// multipart is not as another writer would write it.
const multipart = "--b\r\ncontent-disposition: form-data;  name=a\r\n\r\n1\r\n--b--\r\nan epilogue     "

// TestFrontDoor: host, version, method and syntax of a request.
func TestFrontDoor(t *testing.T) {
	get := func(fields string) string { return "GET / HTTP/1.1\r\n" + hostA + fields + "\r\n" }
	host := func(v string) string { return "GET / HTTP/1.1\r\nHost: " + v + "\r\n\r\n" }
	version := func(v string) string { return "GET / " + v + "\r\n" + hostA + "\r\n" }
	rows := []row{
		refused("1/no Host", "GET / HTTP/1.1\r\n\r\n", 400),
		refused("1/no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 400),
		refused("2/two hosts", get("Host: b.test\r\n"), 400),
		refused("2/the same host twice", get(hostA), 400),
		refused("4/two hosts in one line", host("a.test,b.test"), 400),
		{name: "4/port", send: host("a.test:8080"), status: []int{200}, upstream: 1, check: has("\r\nHost: a.test:8080\r\n", "X-Forwarded-Host: a.test:8080\r\n")},
		{name: "4/IPv6", send: host("[2001:db8::1]:80"), status: []int{200}, upstream: 1, check: has("\r\nHost: [2001:db8::1]:80\r\n")},
		refused("35/folded field", get("X-A: 1\r\n 2\r\n"), 400),
		refused("36/CR inside a value", get("X-A: 1\r2\r\n"), 400),
		refused("36/NUL inside a value", get("X-A: 1\x002\r\n"), 400),
		refused("36/escape inside a value", get("X-A: 1\x1b2\r\n"), 400),
		refused("37/LF line among others", get("X-A: 1\nX-B: 2\r\n"), 400),
		refused("37/all lines end in LF, then a request", "GET / HTTP/1.1\nHost: a.test\n\n"+evil, 400),
		refused("38/space before the first field", "GET / HTTP/1.1\r\n Host: a.test\r\n\r\n", 400),
		refused("39/empty name", get(": 1\r\n"), 400),
		refused("39/no colon", get("X-A\r\n"), 400),
		refused("39/name with parentheses", get("X(A): 1\r\n"), 400),
		refused("39/name beyond ASCII", get("X-\xc3\xa9: 1\r\n"), 400),
		{name: "40/empty lines before", send: "\r\n\r\n" + get(""), status: []int{200}, upstream: 1, check: func(got ...string) string {
			if !strings.HasPrefix(got[0], "GET / HTTP/1.1\r\n") {
				return "empty lines"
			}
			return ""
		}},
		{name: "42/HTTP 1.2", send: version("HTTP/1.2"), status: []int{200}, closes: true, upstream: 1, check: both(has("GET / HTTP/1.1\r\n", "Via: 1.1 rushgate-test\r\n"), lacks("1.2"))},
		{name: "42/HTTP 1.0", send: version("HTTP/1.0"), status: []int{200}, closes: true, upstream: 1, check: has("GET / HTTP/1.1\r\n", "Via: 1.0 rushgate-test\r\n")},
		refused("43/HTTP 2.0", version("HTTP/2.0"), 505),
		refused("43/HTTP 9.9", version("HTTP/9.9"), 505),
		refused("43/HTTP 0.9", version("HTTP/0.9"), 505),
		refused("43/PRI", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
		refused("48/method is no token", "GE(T / HTTP/1.1\r\n"+hostA+"\r\n", 400),
		refused("49/lower case", "get / HTTP/1.1\r\n"+hostA+"\r\n", 501),
		refused("49/unknown", "BREW / HTTP/1.1\r\n"+hostA+"\r\n", 501),
		refused("50/CONNECT", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", 405),
		refused("51/TRACE", "TRACE / HTTP/1.1\r\n"+hostA+"Cookie: secret=1\r\n\r\n", 405),
		{name: "53/OPTIONS for the last hop", send: "OPTIONS / HTTP/1.1\r\n" + hostA + "Max-Forwards: 0\r\n\r\n", status: []int{204}},
		{name: "53/OPTIONS with hops left", send: "OPTIONS * HTTP/1.1\r\n" + hostA + "Max-Forwards: 10\r\n\r\n", status: []int{404}},
		{name: "53/OPTIONS is counted down", send: "OPTIONS / HTTP/1.1\r\n" + hostA + "Max-Forwards: 10\r\n\r\n", status: []int{200}, upstream: 1, check: has("\r\nMax-Forwards: 9\r\n")},
		refused("53/Max-Forwards is no number", "OPTIONS / HTTP/1.1\r\n"+hostA+"Max-Forwards: -1\r\n\r\n", 400),
		{name: "53/GET is not", send: get("Max-Forwards: 0\r\n"), status: []int{200}, upstream: 1, check: has("\r\nMax-Forwards: 0\r\n")},
		{name: "57/100-continue", send: postA + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", status: []int{100, 200}, upstream: 1,
			check: both(has("\r\n\r\nhello"), lacks("expect"))},
		refused("58/other expectation", postA+"Expect: 200-ok\r\nContent-Length: 5\r\n\r\nhello", 417),
		{name: "59/100-continue in HTTP 1.0", send: "POST / HTTP/1.0\r\n" + hostA + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", status: []int{200}, closes: true, upstream: 1,
			check: both(has("\r\n\r\nhello"), lacks("expect"))},
		{name: "0/empty POST says so", send: postA + "\r\n", status: []int{200}, upstream: 1, check: has("\r\nContent-Length: 0\r\n\r\n")},
		{name: "0/empty DELETE that says so", send: "DELETE / HTTP/1.1\r\n" + hostA + "Content-Length: 0\r\n\r\n", status: []int{200}, upstream: 1, check: has("\r\nContent-Length: 0\r\n\r\n")},
		{name: "0/GET has no length", send: get(""), status: []int{200}, upstream: 1, check: lacks("content-length")},
		{name: "0/multipart is not touched", send: postA + "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 74\r\n\r\n" + multipart, status: []int{200}, upstream: 1, check: has("\r\n\r\n" + multipart)},
		{name: "0/cookies are not touched", send: get("Cookie: a=\"1; b ;=c;; d\r\nCookie: e\r\n"), status: []int{200}, upstream: 1,
			check: has("\r\nCookie: a=\"1; b ;=c;; d\r\nCookie: e\r\n")},
	}
	for _, v := range []string{"a.test/x", "u@a.test", "a.test b.test", "a.test:port", "a.test:99999", "a.test:", "", "a%2etest", "[::1", "[]", "a.test:80:80", "a.test\tb"} {
		rows = append(rows, refused("3/host "+strings.ReplaceAll(v, "/", "slash"), host(v), 400))
	}
	for _, v := range []string{"HTTP/1.1x", "http/1.1", "HTTP/01.1", "HTTP/1", "HTTP/1.1 ", "HTTP 1.1", ""} {
		rows = append(rows, refused(fmt.Sprintf("41/version %q", v), version(v), 400))
	}
	rows = append(rows, refused("41/no version", "GET /\r\n"+hostA+"\r\n", 400))
	runRows(t, rows)
}

// TestTargetConfusion: what a route is decided on is what the upstream reads.
func TestTargetConfusion(t *testing.T) {
	get := func(target string) string { return "GET " + target + " HTTP/1.1\r\n" + hostA + "\r\n" }
	rows := []row{
		refused("7/userinfo", get("http://u:p@a.test/"), 400).saying("Authorization"),
		refused("7/userinfo without password", get("http://a.test@b.test/"), 400),
		refused("7/another host", get("http://b.test/"), 400),
		refused("7/another scheme", get("ftp://a.test/"), 400),
		{name: "7/absolute form", send: get("http://A.test/x?y=1"), status: []int{200}, upstream: 1, check: both(has("GET /x?y=1 HTTP/1.1\r\nHost: a.test\r\n"), lacks("authorization"))},
		{name: "7/absolute form without a path", send: get("http://a.test?y"), status: []int{200}, upstream: 1, check: has("GET /?y HTTP/1.1\r\n")},
		refused("45/two spaces", get(" /"), 400),
		refused("45/tab", "GET\t/ HTTP/1.1\r\n"+hostA+"\r\n", 400),
		refused("45/space in the target", get("/a b"), 400),
		refused("45/control character in the target", get("/a\x01b"), 400),
		refused("45/no slash", get("a"), 400),
		refused("45/asterisk of GET", get("*"), 400),
	}
	for _, path := range []string{
		"/public/..%2fadmin", "/a/../admin", "/a/..", "/a/..;x", "/a/.;", "/a/.", "/./a", "//admin", "/a//b", "/%2e%2e/admin", "/.%2E/admin", "/a%5cb", "/a\\b",
		"/a/..;x=1/b", "/a;x/b", "/;/admin", "/%61dmin", "/a%00", "/a%0d%0ab", "/a%", "/a%2", "/a%zz", "/a#b", "/a?b#c", "/\xc3\xa9", "/a%7f",
	} {
		rows = append(rows, refused("47/"+strings.ReplaceAll(path[1:], "/", "|"), get(path), 400))
	}
	for _, target := range []string{
		"/", "/a/b", "/a/", "/a;x=1", "/;jsessionid=1", "/a?", "/a?b=/../c//d%2f%41", "/a??b", "/%E7%A7%92%E6%9D%80?q=\xe7\xa7\x92", "/a%20b%25c%2Bd", "/...", "/a...b/.c", "/a:b@c,d", "/%3Bx", "/?a=[1]|{2}",
	} {
		rows = append(rows, row{name: "47/kept " + strings.ReplaceAll(target, "/", "|"), send: get(target), status: []int{200}, upstream: 1, check: func(got ...string) string {
			if !strings.HasPrefix(got[0], "GET "+target+" HTTP/1.1\r\n") {
				return "another target"
			}
			return ""
		}})
	}
	runRows(t, rows)
}
