package limit

import (
	"strconv"
	"time"
)

// maxInteger is the largest Integer of a structured field (RFC 9651, section
// 3.3.1).
const maxInteger = 999_999_999_999_999

// AppendPolicy appends a member of the RateLimit-Policy field, such as
// "user";q=5;w=1 (draft-ietf-httpapi-ratelimit-headers-10, quota policy item): q is
// the burst, and w the whole seconds in which it flows in. w must not be zero
// there, so it is rounded up: a client that goes by it asks too slowly, never
// too fast. A closed rate has q=0 and no window.
//
// The name is written as it is: printable ASCII without quotes and backslashes.
func (d Decision) AppendPolicy(dst []byte, name string) []byte {
	dst = appendName(dst, name)
	if d.Rate.Closed() {
		return append(dst, ";q=0"...)
	}
	dst = appendInteger(dst, ";q=", int64(d.Rate.Burst))
	return appendInteger(dst, ";w=", max(wholeSeconds(d.Rate.fill()), 1))
}

// AppendState appends a member of the RateLimit field, such as "user";r=0;t=1
// (same draft, service limit item): r is what remains, and t the whole seconds
// until more is there. After a refusal t names the same moment as Retry-After,
// as the draft wants; after a grant, the moment when all of the burst is back.
// A closed rate has no t, since no wait helps.
//
// The name is written as it is, like in AppendPolicy.
func (d Decision) AppendState(dst []byte, name string) []byte {
	dst = appendInteger(appendName(dst, name), ";r=", int64(d.Remaining))
	switch {
	case d.Closed:
		return dst
	case d.OK:
		return appendInteger(dst, ";t=", wholeSeconds(d.Reset))
	default:
		return appendInteger(dst, ";t=", d.RetryAfterSeconds())
	}
}

// RetryAfterSeconds is RetryAfter as the delay-seconds of a Retry-After field
// (RFC 9110, section 10.2.3): whole seconds, rounded up, so never early and at
// least 1. It is 0 where the field has no place: the request was granted, or
// the scope is closed.
func (d Decision) RetryAfterSeconds() int64 {
	return wholeSeconds(d.RetryAfter)
}

func appendName(dst []byte, name string) []byte {
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"')
}

func appendInteger(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), min(n, maxInteger), 10)
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}
