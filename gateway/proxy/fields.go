package proxy

import (
	"bytes"
	"net/http"
	"strings"
)

// field is one header line of a request or a response; both slices alias the
// block that was scanned.
type field struct {
	name, value []byte
	rule        rule
	named       bool // by this message's Connection field: meant for this hop only
}

// Faults of a header block, in either direction. fasthttp refuses most of them
// before; its rules are not relied upon.
var (
	faultFold    = badRequest("a header line begins with a space: put each field on one line")
	faultBareLF  = badRequest("a header line does not end in CR LF")
	faultName    = badRequest("a header name is missing or is not a token")
	faultValue   = badRequest("a header value holds a control character")
	faultOption  = badRequest("an option in Connection is not a token")
	faultOptions = badRequest("Connection names too many options")
	faultGuarded = badRequest("Connection names a field that is not the client's to remove")
	faultUnended = badRequest("the header block does not end where it says")
	faultTooMany = newFault(http.StatusRequestHeaderFieldsTooLarge, "too many header fields: send fewer")
)

// maxConnOptions bounds the work that one message can ask for; real ones have
// two or three options.
const maxConnOptions = 16

// scanFields appends the fields of a block to dst. The block is empty, or ends
// with an empty line.
func scanFields(dst []field, block []byte, maxFields int) ([]field, *Fault) {
	for len(block) > 0 {
		if len(block) == 2 && block[0] == '\r' && block[1] == '\n' {
			return dst, nil
		}
		if len(dst) >= maxFields {
			return dst, faultTooMany
		}
		f, rest, fault := cutField(block)
		if fault != nil {
			return dst, fault
		}
		dst, block = append(dst, f), rest
		if len(block) == 0 {
			return dst, faultUnended
		}
	}
	return dst, nil
}

// cutField cuts the first line off a block. A folded line is refused, as RFC
// 9112 section 5.2 allows: what two parsers make of it differs.
func cutField(block []byte) (f field, rest []byte, fault *Fault) {
	if block[0] == ' ' || block[0] == '\t' {
		return f, nil, faultFold
	}
	end := bytes.IndexByte(block, '\n')
	if end < 1 || block[end-1] != '\r' {
		return f, nil, faultBareLF
	}
	name, value, ok := bytes.Cut(block[:end-1], []byte{':'})
	if !ok || !isToken(name) {
		return f, nil, faultName
	}
	value = trimSpace(value)
	if !isValue(value) {
		return f, nil, faultValue
	}
	return field{name: name, value: value, rule: ruleOf(name)}, block[end+1:], nil
}

// markNamed marks the fields that the message's Connection fields name, which
// are for this hop only and are removed before anything is added (RFC 9110
// section 7.6.1). Naming a field with the rule refuse is a fault. The work is
// bounded: maxConnOptions times the number of fields.
func markNamed(fields []field, refuse rule) *Fault {
	options := 0
	for i := range fields {
		if fields[i].rule&isConnection == 0 {
			continue
		}
		for rest, more := fields[i].value, true; more; {
			var option []byte
			option, rest, more = bytes.Cut(rest, []byte{','})
			if option = trimSpace(option); len(option) == 0 {
				continue // an empty list element says nothing (RFC 9110 section 5.6.1)
			}
			if options++; options > maxConnOptions {
				return faultOptions
			}
			if !isToken(option) {
				return faultOption
			}
			if ruleOf(option)&refuse != 0 {
				return faultGuarded
			}
			markName(fields, option)
		}
	}
	return nil
}

func markName(fields []field, name []byte) {
	for i := range fields {
		if equalFold(fields[i].name, name) {
			fields[i].named = true
		}
	}
}

// count returns how many fields have the rule, and the value of the first.
func count(fields []field, r rule) (n int, first []byte) {
	for i := range fields {
		if fields[i].rule&r == 0 {
			continue
		}
		if n++; n == 1 {
			first = fields[i].value
		}
	}
	return n, first
}

// tokens are the bytes of a token (RFC 9110 section 5.6.2).
var tokens = func() (t [256]bool) {
	for c := range t {
		t[c] = isAlphanumeric(byte(c)) || strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0
	}
	return t
}()

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isToken[T string | []byte](s T) bool {
	for i := range len(s) {
		if !tokens[s[i]] {
			return false
		}
	}
	return len(s) > 0
}

// isValue says that s may stand in a header line: no control byte but HTAB, so
// it cannot split the line (RFC 9110 section 5.5).
func isValue[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// trimSpace cuts optional whitespace, which is SP and HTAB and nothing else, off both ends.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// equalFold compares ASCII names. Unlike bytes.EqualFold it makes no K of a
// Kelvin sign.
func equalFold[T string | []byte](a []byte, b T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
