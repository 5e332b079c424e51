package identity

import (
	"bytes"
	"net/netip"
	"unsafe"
)

// parseEntry reads one element of X-Forwarded-For. The field was never
// standardised, so the forms that proxies write are all taken: an address, with
// or without a port, IPv6 with or without brackets, all of it perhaps in quotes
// (as RFC 7239, section 6, demands for the successor of the field). Names such as
// "unknown" are no addresses.
func parseEntry(entry []byte) (netip.Addr, bool) {
	host, ok := cutPort(unquote(trimSpace(entry)))
	if !ok {
		return netip.Addr{}, false
	}
	if zone := bytes.IndexByte(host, '%'); zone >= 0 {
		host = host[:zone]
	}
	return parseAddr(host)
}

// cutPort takes the port and the brackets off.
func cutPort(s []byte) (host []byte, ok bool) {
	if len(s) > 0 && s[0] == '[' {
		end := bytes.IndexByte(s, ']')
		if end < 0 {
			return nil, false
		}
		host, rest := s[1:end], s[end+1:]
		return host, bytes.IndexByte(host, ':') >= 0 && (len(rest) == 0 || isPort(rest))
	}
	colon := bytes.IndexByte(s, ':')
	if colon < 0 || bytes.IndexByte(s[colon+1:], ':') >= 0 {
		return s, true // IPv4, or IPv6 without a port
	}
	return s[:colon], isPort(s[colon:])
}

// isPort says whether s is a colon and up to five digits.
func isPort(s []byte) bool {
	if len(s) < 2 || len(s) > 6 || s[0] != ':' {
		return false
	}
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// maxAddr is the length of the longest way to write an address, IPv6 that ends
// in IPv4 (INET6_ADDRSTRLEN less its zero, RFC 3493, section 6.3).
const maxAddr = 45

func parseAddr(s []byte) (netip.Addr, bool) {
	if len(s) == 0 || len(s) > maxAddr {
		return netip.Addr{}, false
	}
	// The string is a view of the request's buffer. Nothing of it survives: an
	// address without a zone holds no text, and the error, which does, is
	// dropped here.
	addr, err := netip.ParseAddr(unsafe.String(unsafe.SliceData(s), len(s))) //nolint:gosec // as said above
	if err != nil {
		return netip.Addr{}, false
	}
	return plain(addr), true
}

// trimSpace removes the optional whitespace round a value (RFC 9110, section
// 5.6.3).
func trimSpace(s []byte) []byte { return bytes.Trim(s, " \t") }

// unquote takes off a pair of double quotes. What is between them is not
// unescaped: no character that needs it is valid in what this package reads.
func unquote(s []byte) []byte {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
