package proxy

import (
	"fmt"
	"net/http"
)

// Fault is a request that is refused for what it is, whoever sent it: bad
// syntax, bad framing, or something that this server does not do. It is an
// answer, so it says what the client should send instead.
//
// Whoever answers a Fault closes the connection after the answer: the two ends may not agree on
// where the request ended (RFC 9112 section 6.3).
//
// Faults are shared and never change; returning one allocates nothing. They
// carry no byte of the request.
type Fault struct {
	Status int    // HTTP status
	Code   string // its phrase in snake_case; bad_request for 400
	Detail string // one sentence, for people
}

// Error makes a Fault an error. A nil *Fault must not be stored in an error.
func (f *Fault) Error() string { return fmt.Sprintf("%d %s: %s", f.Status, f.Code, f.Detail) }

// codes are the status phrases of RFC 9110 section 15, RFC 6585 and RFC 5842.
var codes = map[int]string{
	http.StatusBadRequest:                  "bad_request",
	http.StatusMethodNotAllowed:            "method_not_allowed",
	http.StatusRequestTimeout:              "request_timeout",
	http.StatusRequestEntityTooLarge:       "content_too_large",
	http.StatusRequestURITooLong:           "uri_too_long",
	http.StatusExpectationFailed:           "expectation_failed",
	http.StatusRequestHeaderFieldsTooLarge: "request_header_fields_too_large",
	http.StatusNotImplemented:              "not_implemented",
	http.StatusHTTPVersionNotSupported:     "http_version_not_supported",
	http.StatusLoopDetected:                "loop_detected",
}

func newFault(status int, detail string) *Fault {
	return &Fault{Status: status, Code: codes[status], Detail: detail}
}

func badRequest(detail string) *Fault { return newFault(http.StatusBadRequest, detail) }
