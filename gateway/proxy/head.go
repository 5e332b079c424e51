package proxy

import (
	"iter"
	"net/http"

	"github.com/valyala/fasthttp"
)

// Head is the head of one request as the client sent it, without the trailer.
// It is the only place to read a request's fields from: fasthttp's own header
// holds the trailer's fields as well.
//
// The zero value is ready for Read, and Read may be called again: keep Heads in
// a pool and reading allocates nothing. A Head and every slice from it alias
// the request's memory and are valid until its handler returns. A Head belongs
// to one goroutine.
type Head struct {
	method  []byte
	host    []byte
	path    []byte // raw, never decoded
	tail    []byte // from '?' on; empty without a query
	fields  []field
	minor   byte // 0 for HTTP/1.0, else 1
	maxHops int  // Max-Forwards of an OPTIONS request; -1 without
	hasBody bool // framed: Content-Length or Transfer-Encoding was sent
}

var (
	faultVersion = newFault(http.StatusHTTPVersionNotSupported, "only HTTP/1.0 and HTTP/1.1 are spoken here")
	faultMethod  = newFault(http.StatusMethodNotAllowed, "this method is not allowed anywhere on this server")
	faultUnknown = newFault(http.StatusNotImplemented, "unknown method: methods are GET HEAD POST PUT PATCH DELETE OPTIONS, in capitals")
	faultNoHost  = badRequest("the Host field is missing")
	faultHosts   = badRequest("there is more than one Host field")
	faultHost    = badRequest("Host is not a name or address with an optional port")
	faultFraming = badRequest("send one Content-Length or one Transfer-Encoding, not both and not two")
	faultLength  = badRequest("Content-Length is not a decimal number")
	faultCoding  = badRequest("the only transfer coding is chunked, in HTTP/1.1")
	faultExpect  = newFault(http.StatusExpectationFailed, "the only expectation is 100-continue")
	faultMaxFwd  = badRequest("Max-Forwards is not a decimal number")
)

// maxForwardsCap: a greater Max-Forwards says nothing more.
const maxForwardsCap = 255

// Read decides all that the request line and the fields alone decide, and keeps
// them for the accessors. It returns nil or the first fault: 400, 405, 417, 431 (more
// than maxFields lines), 501 or 505. After a fault the Head is not to be used.
//
// Call it before anything rewrites the header, fasthttp's Request.URI setters
// and Request.RequestURI included.
func (h *Head) Read(req *fasthttp.RequestHeader, maxFields int) *Fault {
	*h = Head{fields: h.fields[:0], method: req.Method(), maxHops: -1}
	if f := h.readVersion(req.Protocol()); f != nil {
		return f
	}
	if f := checkMethod(h.method); f != nil {
		return f
	}
	var f *Fault
	if h.fields, f = scanFields(h.fields, req.RawHeaders(), maxFields); f != nil {
		return f
	}
	if f := h.readHost(); f != nil {
		return f
	}
	if f := h.readFraming(); f != nil {
		return f
	}
	if f := h.readControl(); f != nil {
		return f
	}
	if f := markNamed(h.fields, guarded); f != nil {
		return f
	}
	return h.readTarget(req.RequestURI())
}

// Allow are the methods that Read takes, as a 405 must list them.
const Allow = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

// readVersion takes any HTTP/1.x as what it promises at least: 1.0 as itself,
// higher ones as 1.1 (RFC 9110 section 2.5).
func (h *Head) readVersion(v []byte) *Fault {
	if len(v) != len("HTTP/1.1") || string(v[:7]) != "HTTP/1." {
		return faultVersion
	}
	if v[7] != '0' {
		h.minor = 1
	}
	return nil
}

// checkMethod compares bytes: methods are case-sensitive (RFC 9110 section
// 9.1). TRACE would echo credentials and CONNECT would open a tunnel.
func checkMethod(m []byte) *Fault {
	switch string(m) {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return nil
	case http.MethodTrace, http.MethodConnect:
		return faultMethod
	}
	return faultUnknown
}

// readHost wants exactly one, of HTTP/1.0 clients too: the request goes on as
// HTTP/1.1, which needs it.
func (h *Head) readHost() *Fault {
	n, host := count(h.fields, isHost)
	switch {
	case n == 0:
		return faultNoHost
	case n > 1:
		return faultHosts
	case !isAuthority(host):
		return faultHost
	}
	h.host = host
	return nil
}

// readFraming refuses what RFC 9112 section 6.3 lets a server guess at.
func (h *Head) readFraming() *Fault {
	lengths, length := count(h.fields, isLength)
	codings, coding := count(h.fields, isCoding)
	switch {
	case lengths+codings > 1:
		return faultFraming
	case lengths == 1 && !isDecimal(length):
		return faultLength
	case codings == 1 && (h.minor == 0 || !equalFold(coding, "chunked")):
		return faultCoding
	}
	h.hasBody = lengths+codings == 1
	return nil
}

// readControl reads the fields that steer the request itself.
func (h *Head) readControl() *Fault {
	for i := range h.fields {
		switch f := &h.fields[i]; {
		case f.rule&isExpect != 0 && !equalFold(f.value, "100-continue"):
			return faultExpect
		case f.rule&isMaxForwards != 0 && string(h.method) == http.MethodOptions:
			if !isDecimal(f.value) || h.maxHops >= 0 {
				return faultMaxFwd
			}
			h.maxHops = cappedInt(f.value, maxForwardsCap)
		}
	}
	return nil
}

// Method returns one of the seven methods that are allowed.
func (h *Head) Method() []byte { return h.method }

// Host returns the Host field, as sent.
func (h *Head) Host() []byte { return h.host }

// Path returns the path as sent: not decoded, free of dot segments, empty
// segments and encoded slashes, so that comparing its bytes is enough. It is "*" for the server-wide
// OPTIONS.
func (h *Head) Path() []byte { return h.path }

// Query returns what follows the first '?', as sent; nil without one.
func (h *Head) Query() []byte {
	if len(h.tail) == 0 {
		return nil
	}
	return h.tail[1:]
}

// Get returns the value of the first line of this name, in any case, and how
// many lines have it. A caller that takes more than one line for one answer is
// easily fooled: refuse n > 1 for anything that decides.
func (h *Head) Get(name string) (value []byte, n int) {
	for v := range h.All(name) {
		if n++; n == 1 {
			value = v
		}
	}
	return value, n
}

// All yields the values of the lines of this name, in order.
func (h *Head) All(name string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range h.fields {
			if equalFold(h.fields[i].name, name) && !yield(h.fields[i].value) {
				return
			}
		}
	}
}

func isDecimal(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// cappedInt reads decimal digits; all that is beyond limit is limit.
func cappedInt(digits []byte, limit int) int {
	n := 0
	for _, c := range digits {
		if n = n*10 + int(c-'0'); n > limit {
			return limit
		}
	}
	return n
}
