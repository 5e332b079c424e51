package web

import "strings"

// Response is what to write to the client, in types of no server's own.
type Response struct {
	Status int
	Header []Field
	Body   []byte // shared; not to be written to. A HEAD is answered without it, with its length
}

// Field is one header field.
type Field struct{ Name, Value string }

// policy lets the page load what its own origin serves and nothing else: no
// inline script or style, no frame round it, no form that leaves it.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// fresh makes browsers ask each time and mostly hear 304: a page and modules of
// two versions would not fit together.
var fresh = Field{"Cache-Control", "no-cache"}

// Serve answers a GET or HEAD for the file: 200, 308, or 304 where ifNoneMatch,
// the request's field of that name or "", holds the file's tag. Other methods
// are the caller's to refuse.
func (f File) Serve(ifNoneMatch string) Response {
	if f.Location != "" {
		return Response{Status: 308, Header: []Field{{"Location", f.Location}, fresh}}
	}
	if matches(ifNoneMatch, f.ETag) {
		return Response{Status: 304, Header: []Field{{"ETag", f.ETag}, fresh}}
	}
	return Response{
		Status: 200,
		Header: []Field{
			{"Content-Type", f.ContentType},
			{"ETag", f.ETag},
			fresh,
			{"Content-Security-Policy", policy},
			{"X-Content-Type-Options", "nosniff"},
			{"Referrer-Policy", "same-origin"},
		},
		Body: f.Body,
	}
}

// matches compares as RFC 9110 section 13.1.2 says: any of the list, weakly. No
// tag of ours holds a comma, so the list may be cut at each.
func matches(ifNoneMatch, tag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}
