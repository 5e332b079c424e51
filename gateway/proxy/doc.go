// Package proxy is the gateway's HTTP edge: what a request must look like to be
// taken at all, which upstream it belongs to, and what is sent there. It is a
// reverse proxy over fasthttp, HTTP/1.1 on both sides.
//
// The path of a request: [Harden] and [Guard] bound what a connection may
// take; [Head.Read] decides everything that can be decided on the head alone;
// [Router.Match] names the upstream; [Upstreams.Forward] writes a new request
// and copies the answer back. Nothing of the client's request is handed on by
// default in the fields that matter: rules.go is the whole policy, one row a
// field.
//
// # What fasthttp does, and what is done about it
//
// fasthttp v1.78 is a fast and by now strict HTTP/1 parser, but no proxy. What
// was observed, and the answer to it:
//
//   - Its request header holds the trailer's fields too: a trailer X-User-Id
//     answers Peek. So the head is read from RequestHeader.RawHeaders, which is
//     set aside before the body, and from nothing else.
//   - It takes names with a space in them, "Host: a,b", a Content-Length beside
//     a Transfer-Encoding, userinfo in an absolute target, any method and any
//     version. Head.Read refuses them.
//   - It rebuilds a target from a parsed URI, which can lose a "?" and a
//     fragment, turns userinfo into an Authorization field, and parses cookies
//     and writes them anew. So the upstream request is not a fasthttp.Request:
//     its head is written byte by byte from the client's.
//   - HostClient sends GET, HEAD, PUT and QUERY again, up to five times. Here
//     it is the pool of connections and nothing more: the exchange is ours, it
//     is made once, and it knows whether a byte was sent.
//   - Its response parser lets a Transfer-Encoding win over a Content-Length,
//     ignores one in an HTTP/1.0 response, and pools a connection on which bytes are
//     left. The response's head is checked before it is parsed, a connection
//     with bytes left is closed, and an idle one is looked at before it is used.
//   - A server has no timeout by default, 4 KiB for a head, and parses
//     multipart bodies into files. Harden sets all of that.
//   - An oversized target and oversized fields are one error to it, and a
//     chunk extension may be of any length. Guard counts the bytes of a request
//     and notes whether its first line has ended.
//   - It sets Date itself and drops an upstream's; the two differ by the time
//     an answer takes. Reason phrases are its own too.
//
// # What is not caught
//
// A line feed without carriage return after the request line is accepted (the
// line is not in RawHeaders; upstream it becomes CRLF). A response framed by the end of its
// connection cannot be told from one that was cut there (RFC 9112 section 8).
// Bytes that an upstream sends unasked between the look at an idle connection and the next
// request are read as the beginning of that request's answer.
package proxy
