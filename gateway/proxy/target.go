package proxy

import (
	"bytes"
	"net/http"
)

// The faults of a target. Each names a way in which two servers read one path
// differently, so that a route or an access rule decided here would not hold
// upstream (RFC 9110 section 7.7 leaves such differences to the parties).
var (
	faultTarget     = badRequest("the request target is not a path, nor http:// or https:// and a path")
	faultUserinfo   = badRequest("the request target holds a user name: send an Authorization field")
	faultOtherHost  = badRequest("the host in the request target is not the one in Host")
	faultFragment   = badRequest("the request target holds a fragment")
	faultDotSegment = badRequest("the path holds a dot segment: resolve it before sending")
	faultNoSegment  = badRequest("the path holds an empty segment")
	faultParams     = badRequest("the path holds parameters before its last segment")
	faultPathByte   = badRequest("the path holds a byte that must be percent-encoded")
	faultEncoding   = badRequest("the path holds a broken percent-encoding")
	faultSlash      = badRequest("the path holds an encoded slash or backslash")
	faultControl    = badRequest("the target holds a control character, or its encoding in the path")
	faultNeedless   = badRequest("the path encodes a letter, digit or one of -._~: send it plain")
)

var asterisk, slash = []byte("*"), []byte("/")

// readTarget takes the origin form, the asterisk of OPTIONS, and the absolute
// form that a server must take too (RFC 9112 section 3.2).
func (h *Head) readTarget(target []byte) *Fault {
	options := string(h.method) == http.MethodOptions
	if options && bytes.Equal(target, asterisk) {
		h.path = target
		return nil
	}
	if len(target) == 0 || target[0] != '/' {
		var f *Fault
		if target, f = h.cutAuthority(target); f != nil {
			return f
		}
	}
	h.path = target
	if i := bytes.IndexAny(target, "?#"); i >= 0 {
		h.path, h.tail = target[:i], target[i:]
	}
	if len(h.path) == 0 {
		if h.path = slash; options && len(h.tail) == 0 {
			h.path = asterisk // RFC 9112 section 3.2.4
		}
		return checkQuery(h.tail)
	}
	if f := checkPath(h.path); f != nil {
		return f
	}
	return checkQuery(h.tail)
}

// cutAuthority takes an absolute-form target apart. Its host would win over the
// Host field (RFC 9112 section 3.2.2); a client must send the same in both, so a
// difference is refused.
func (h *Head) cutAuthority(target []byte) (rest []byte, fault *Fault) {
	scheme, rest, ok := bytes.Cut(target, []byte("://"))
	if !ok || !equalFold(scheme, "http") && !equalFold(scheme, "https") {
		return nil, faultTarget
	}
	end := bytes.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	switch authority := rest[:end]; {
	case bytes.IndexByte(authority, '@') >= 0:
		return nil, faultUserinfo
	case !equalFold(authority, h.host):
		return nil, faultOtherHost
	}
	return rest[end:], nil
}

func checkPath(path []byte) *Fault {
	for rest, more := path[1:], true; more; {
		var segment []byte
		segment, rest, more = bytes.Cut(rest, slash)
		if f := checkSegment(segment, !more); f != nil {
			return f
		}
	}
	return nil
}

// checkSegment looks at the segment without its parameters, as servlet
// containers do: to them "/a/..;x/b" is "/b".
func checkSegment(segment []byte, last bool) *Fault {
	name, _, params := bytes.Cut(segment, []byte{';'})
	switch {
	case params && !last:
		return faultParams
	case len(name) == 0 && !last:
		return faultNoSegment
	case string(name) == ".", string(name) == "..":
		return faultDotSegment
	}
	for i := 0; i < len(segment); i++ {
		switch c := segment[i]; {
		case c < ' ' || c == 0x7f:
			return faultControl
		case c == '%':
			if f := checkEncoded(segment[i:]); f != nil {
				return f
			}
			i += 2
		case c == ' ' || c == '\\' || c > 0x7f:
			return faultPathByte
		}
	}
	return nil
}

// checkEncoded looks at one percent-encoding in a path. An encoded unreserved
// character is refused because it equals the plain one (RFC 3986 section 2.3):
// "/%61dmin" is "/admin" upstream, and "%2e%2e" is "..".
func checkEncoded(b []byte) *Fault {
	if len(b) < 3 || !isHex(b[1]) || !isHex(b[2]) {
		return faultEncoding
	}
	switch c := unhex(b[1])<<4 | unhex(b[2]); {
	case c < ' ' || c == 0x7f:
		return faultControl
	case c == '/' || c == '\\':
		return faultSlash
	case isUnreserved(c):
		return faultNeedless
	}
	return nil
}

// checkQuery leaves the query to the upstream; it must only stay inside the line.
func checkQuery(tail []byte) *Fault {
	for _, c := range tail {
		switch {
		case c == '#':
			return faultFragment
		case c <= ' ' || c == 0x7f:
			return faultControl
		}
	}
	return nil
}

// isAuthority says that s is a host with an optional port: a name of letters,
// digits, '-', '.' and '_', or an address; IPv6 in brackets. That is narrower than RFC
// 3986 section 3.2.2, which allows commas and percent-encodings that no name has.
func isAuthority(s []byte) bool {
	host := s
	if i := bytes.LastIndexByte(s, ':'); i >= 0 && bytes.IndexByte(s[i:], ']') < 0 {
		var port []byte
		if host, port = s[:i], s[i+1:]; !isDecimal(port) || cappedInt(port, 1<<16) > 65535 {
			return false
		}
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		return isAddress6(host[1 : len(host)-1])
	}
	for _, c := range host {
		if !isAlphanumeric(c) && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return 0 < len(host) && len(host) <= 253 // RFC 1035 section 2.3.4, in text
}

// isAddress6 looks at the alphabet only: whether such an address exists is for
// whoever compares it.
func isAddress6(s []byte) bool {
	for _, c := range s {
		if !isHex(c) && c != ':' && c != '.' {
			return false
		}
	}
	return 1 < len(s) && len(s) <= 45
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

func isUnreserved(c byte) bool {
	return isAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~'
}
