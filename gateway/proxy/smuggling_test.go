package proxy

import (
	"strings"
	"testing"
)

const (
	postA = "POST / HTTP/1.1\r\n" + hostA
	evil  = "GET /evil HTTP/1.1\r\n" + hostA + "\r\n"
)

// TestSmuggling: two readers must never differ on where a request ends. Every
// row has a second request hidden where a lenient reader would find one.
func TestSmuggling(t *testing.T) {
	chunked := func(body string) string { return postA + "Transfer-Encoding: chunked\r\n\r\n" + body }
	length := func(v string) string { return postA + "Content-Length: " + v + "\r\n\r\nhello" + evil }
	coding := func(v string) string { return postA + "Transfer-Encoding:" + v + "\r\n\r\n0\r\n\r\n" + evil }
	rows := []row{
		refused("8/length then coding", postA+"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX", 400),
		refused("8/coding then length", postA+"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nX", 400),
		refused("9/both and a second request", postA+"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+evil, 400),
		refused("10/xchunked", coding(" xchunked"), 400),
		refused("10/identity", coding(" identity"), 400),
		refused("10/gzip, chunked", coding(" gzip, chunked"), 400),
		refused("11/chunked not last", coding(" chunked, identity"), 400),
		refused("12/two codings", postA+"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+evil, 400),
		refused("13/empty element before", coding(" ,chunked"), 400),
		refused("13/empty element behind and a length", postA+"Content-Length: 5\r\nTransfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"+evil, 400),
		refused("14/quoted", coding(` "chunked"`), 400),
		refused("14/vertical tab", coding("\x0bchunked"), 400),
		refused("14/form feed", coding(" \x0cchunked"), 400),
		refused("14/no-break space", coding(" \xa0chunked\xa0"), 400),
		refused("14/parameter", coding(" chunked;x=1"), 400),
		refused("14/empty", coding(""), 400),
		refused("15/coding with a space before the colon", postA+"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"+evil, 400),
		refused("15/length with a space before the colon", postA+"Content-Length : 5\r\n\r\nhello"+evil, 400),
		refused("17/space inside the name", postA+"Transfer Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello", 400),
		{name: "17/underscore in the name", send: postA + "Transfer_Encoding: chunked\r\nContent_Length: 9\r\nContent-Length: 5\r\n\r\nhello",
			status: []int{200}, upstream: 1, check: both(has("Content-Length: 5\r\n\r\nhello"), lacks("chunked", "Content_Length"))},
		refused("19/coding in HTTP/1.0", "POST / HTTP/1.0\r\n"+hostA+"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+evil, 400),
		refused("20/length twice", postA+"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"+evil, 400),
		refused("20/length list", length("5, 5"), 400),
		refused("21/two lengths", postA+"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"+evil, 400),
		refused("21/two lengths in a list", length("5, 6"), 400),
		refused("23/length of 2^64+5", length("18446744073709551621"), 400),
		refused("23/length of 26 digits", length("10000000000000000000000005"), 400),
		{name: "24/leading zeros", send: postA + "Content-Length: 005\r\n\r\nhello", status: []int{200}, upstream: 1,
			check: both(has("\r\nContent-Length: 5\r\n"), lacks("005"))},
		{name: "28/chunk extension", send: chunked("5;a=b\r\nhello\r\n0\r\n\r\n"), status: []int{200}, upstream: 1,
			check: both(has("Content-Length: 5\r\n\r\nhello"), lacks("a=b", "chunked"))},
		{name: "28/empty chunk extension", send: chunked("5;\r\nhello\r\n0\r\n\r\n"), status: []int{200}, upstream: 1,
			check: has("Content-Length: 5\r\n\r\nhello")},
		{name: "28/bad chunk extension", send: chunked("5;bad[\r\nhello\r\n0\r\n\r\n"), status: []int{200}, upstream: 1,
			check: both(has("Content-Length: 5\r\n\r\nhello"), lacks("bad["))},
		{name: "28/NUL in a chunk extension", send: chunked("5;\x00e\r\nhello\r\n0\r\n\r\n"), status: []int{200}, upstream: 1,
			check: both(has("Content-Length: 5\r\n\r\nhello"), lacks("\x00"))},
		refused("30/extension ended by LF", chunked("5;\nhello\r\n0\r\n\r\n"+evil), 400),
		refused("30/CR inside an extension", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n"+evil), 400),
		refused("30/size ended by LF", chunked("5\nhello\r\n0\r\n\r\n"+evil), 400),
		refused("31/chunk ended by XX", chunked("5\r\nhelloXX0\r\n\r\n"+evil), 400),
		refused("31/chunk ended by LF", chunked("5\r\nhello\n0\r\n\r\n"+evil), 400),
		refused("31/chunk longer than its size", chunked("5\r\nhelloworld\r\n0\r\n\r\n"+evil), 400),
		refused("32/no end of the trailer", chunked("0\r\nXX"+evil), 400),
		{name: "60/GET with a body, then a request", send: "GET /1 HTTP/1.1\r\n" + hostA + "Content-Length: 5\r\n\r\nhello" + "GET /2 HTTP/1.1\r\n" + hostA + "\r\n",
			status: []int{200, 200}, upstream: 2, check: func(got ...string) string {
				if !strings.HasSuffix(got[0], "\r\n\r\nhello") || !strings.HasPrefix(got[1], "GET /2 ") {
					return "other requests"
				}
				return ""
			}},
		{name: "60/a byte more than the length", send: "GET /1 HTTP/1.1\r\n" + hostA + "Content-Length: 0\r\n\r\nX" + "GET /2 HTTP/1.1\r\n" + hostA + "\r\n",
			status: []int{200, 501}, closes: true, upstream: 1, check: has("GET /1 ")},
		{name: "61/close, then a request", send: "GET /1 HTTP/1.1\r\n" + hostA + "Connection: close\r\n\r\n" + evil,
			status: []int{200}, closes: true, upstream: 1, check: both(has("GET /1 "), lacks("connection:"))},
	}
	for _, v := range []string{"+5", "-5", "-0", "0x5", "0_5", "5z", "1 0", ""} {
		rows = append(rows, refused("22/length "+v, length(v), 400))
	}
	for _, v := range []string{"0x5", "+5", "-1", "1_0", " 5", "", "10000000000000005"} {
		rows = append(rows, refused("26/chunk size "+v, chunked(v+"\r\nhello\r\n0\r\n\r\n"+evil), 400))
	}
	runRows(t, rows)
}
