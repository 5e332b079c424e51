package proxy

import (
	"bytes"
	"net/http"
	"strconv"
)

// Own is what the gateway itself says of a request, in place of whatever the
// client said. An empty value is left out.
type Own struct {
	User        string // X-User-Id; empty for an anonymous request
	ClientIP    string // X-Forwarded-For: the one address that the gateway believes
	Scheme      string // X-Forwarded-Proto: "http" or "https"
	RequestID   string // X-Request-Id
	TraceParent string // traceparent, W3C Trace Context
}

var (
	faultOwn  = badRequest("the identity or another value that would be sent upstream holds a control character")
	faultLoop = newFault(http.StatusLoopDetected, "this request has been through this gateway before: an upstream points back at it")
)

// check refuses a value that would end its line. A claim of a token can hold
// anything, so this is a client's fault and not a panic.
func (o *Own) check() *Fault {
	if isValue(o.User) && isValue(o.ClientIP) && isValue(o.Scheme) && isValue(o.RequestID) && isValue(o.TraceParent) {
		return nil
	}
	return faultOwn
}

// appendRequest appends the head of the upstream request: the client's method
// and target byte for byte, its end-to-end fields in order, then the gateway's
// own. Own must have been checked.
func appendRequest(dst []byte, h *Head, own *Own, pseudonym string, bodyLen int) []byte {
	dst = append(dst, h.method...)
	dst = append(dst, ' ')
	dst = append(dst, h.path...)
	dst = append(dst, h.tail...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	dst = appendField(dst, "Host", h.host)
	for i := range h.fields {
		f := &h.fields[i]
		switch {
		case f.rule&dropRequest != 0 || f.named:
		case f.rule&isMaxForwards != 0 && h.maxHops > 0:
			dst = appendNumber(dst, "Max-Forwards", h.maxHops-1)
		default:
			dst = appendField(dst, f.name, f.value)
		}
	}
	dst = appendOwn(dst, own, h.host)
	dst = appendVia(dst, h.minor, pseudonym)
	if bodyLen > 0 || h.hasBody || impliesBody(h.method) {
		dst = appendNumber(dst, "Content-Length", bodyLen)
	}
	return append(dst, '\r', '\n')
}

// impliesBody says that a request without a body should say so (RFC 9110
// section 8.6).
func impliesBody(method []byte) bool {
	switch string(method) {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return false
}

func appendOwn(dst []byte, o *Own, host []byte) []byte {
	dst = appendField(dst, "X-Forwarded-Host", host)
	for _, f := range [...]struct{ name, value string }{
		{"X-Forwarded-For", o.ClientIP},
		{"X-Forwarded-Proto", o.Scheme},
		{"X-User-Id", o.User},
		{"X-Request-Id", o.RequestID},
		{"traceparent", o.TraceParent},
	} {
		if f.value != "" {
			dst = appendField(dst, f.name, f.value)
		}
	}
	return dst
}

// appendVia adds ours behind the client's, whose version it tells (RFC 9110
// section 7.6.3).
func appendVia(dst []byte, minor byte, pseudonym string) []byte {
	dst = append(dst, "Via: 1."...)
	dst = append(dst, '0'+minor, ' ')
	dst = append(dst, pseudonym...)
	return append(dst, '\r', '\n')
}

func appendField[N, V string | []byte](dst []byte, name N, value V) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, '\r', '\n')
}

func appendNumber(dst []byte, name string, n int) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

// passed says that the request's Via names the pseudonym: it went through this
// gateway already.
func (h *Head) passed(pseudonym string) bool {
	for i := range h.fields {
		if h.fields[i].rule&isVia == 0 {
			continue
		}
		for rest, more := h.fields[i].value, true; more; {
			var hop []byte
			hop, rest, more = bytes.Cut(rest, []byte{','})
			if equalFold(receivedBy(hop), pseudonym) {
				return true
			}
		}
	}
	return false
}

// receivedBy is the second word of a Via element: protocol, received-by,
// comment.
func receivedBy(hop []byte) []byte {
	_, hop = cutWord(hop)
	word, _ := cutWord(hop)
	return word
}

func cutWord(b []byte) (word, rest []byte) {
	b = trimSpace(b)
	if i := bytes.IndexAny(b, " \t"); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}
