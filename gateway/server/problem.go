package server

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"rushgate/gateway/limit"
)

// refusal is every way in which the gateway says no: the one vocabulary, and
// problem.go the one place that turns it into status, body and fields.
type refusal struct {
	code     string        // stable word; its status and detail stand in problems
	status   int           // only of a code that is not in problems: a proxy.Fault's
	detail   string        // in place of the code's own
	scope    string        // limited: ip, user, item or global
	state    string        // order_state: where the order stands
	startsAt int64         // not_started: Unix milliseconds
	now      int64         // not_started: the same clock as startsAt
	wait     time.Duration // after which asking again can help; 0 where it can't
	limit    *limit.Decision
	allow    string // method_not_allowed: the methods that are
	close    bool   // the connection's framing is not to be trusted any more
}

// problem is what a code means: its HTTP status, and in one sentence what
// happened and what to do. RFC 9110 has all statuses but 425 (RFC 8470) and 429
// (RFC 6585).
type problem struct {
	status int
	detail string
	head   []byte // of the JSON body, as far as the code alone decides it
}

var problems = withHeads(map[string]problem{
	"bad_request":             {status: 400, detail: "The request cannot be understood."},
	"idempotency_key_missing": {status: 400, detail: "Send an Idempotency-Key of your own for each purchase attempt, for example a UUIDv7."},
	"unauthenticated":         {status: 401, detail: "The gateway does not know who you are."},
	"blacklisted":             {status: 403, detail: "This user or address is blocked."},
	"no_such_item":            {status: 404, detail: "Nothing is on sale under this id; GET /items lists what is."},
	"no_such_order":           {status: 404, detail: "You have no such order."},
	"no_route":                {status: 404, detail: "Nothing is served under this path."},
	"method_not_allowed":      {status: 405, detail: "The path takes other methods; see Allow."},
	"duplicate":               {status: 409, detail: "You have, or asked for, all that one user may buy."},
	"sold_out":                {status: 409, detail: "Not enough units are left."},
	"in_progress":             {status: 409, detail: "The first request with this key is still in progress; ask again with the same key."},
	"order_state":             {status: 409, detail: "The order's state does not allow this."},
	"order_failed":            {status: 409, detail: "The order could not be made."},
	"ended":                   {status: 410, detail: "The sale is over."},
	"idempotency_mismatch":    {status: 422, detail: "This key was used for another item or quantity; use a new key for a new purchase."},
	"not_started":             {status: statusTooEarly, detail: "The sale has not started."},
	"limited":                 {status: 429, detail: "Too many requests; wait as Retry-After says."},
	"internal_server_error":   {status: 500, detail: "The gateway failed before anything was done."},
	"upstream_failed":         {status: 502, detail: "The service behind the gateway failed."},
	"overloaded":              {status: 503, detail: "This request did nothing; ask again as Retry-After says."},
	"paused":                  {status: 503, detail: "The sale is paused; ask again."},
	"unknown_outcome":         {status: 504, detail: "The purchase may have been made; ask again with the same Idempotency-Key and Rushgate-Retry: 1."},
})

func withHeads(table map[string]problem) map[string]problem {
	for code, p := range table {
		p.head = appendHead(nil, p.status, code, p.detail)
		table[code] = p
	}
	return table
}

// write answers with a problem (RFC 9457).
func (r *refusal) write(x *exchange) {
	p := problems[r.code]
	if r.status != 0 {
		p = problem{status: r.status}
	}
	resp := &x.ctx.Response
	resp.Reset()
	resp.SetStatusCode(p.status)
	if p.status == statusTooEarly {
		resp.Header.SetStatusMessage(tooEarlyPhrase)
	}
	h := &resp.Header
	h.DisableNormalizing() // RateLimit is not Ratelimit
	h.SetContentType("application/problem+json")
	h.Set("Cache-Control", "no-store")
	if r.close {
		resp.SetConnectionClose()
	}
	var b [64]byte
	if r.wait > 0 {
		h.SetBytesV("Retry-After", strconv.AppendInt(b[:0], wholeSeconds(r.wait), 10))
	}
	if r.limit != nil {
		h.SetBytesV("RateLimit-Policy", r.limit.AppendPolicy(b[:0], r.scope))
		h.SetBytesV("RateLimit", r.limit.AppendState(b[:0], r.scope))
	}
	if r.allow != "" {
		h.Set("Allow", r.allow) // RFC 9110 section 15.5.6 wants it
	}
	if p.status == fasthttp.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Rushgate") // RFC 9110 section 15.5.2 wants one
	}
	x.buf = r.appendBody(x.buf[:0], p, x.traceID())
	resp.SetBody(x.buf)
}

// appendBody writes the JSON. What is not written by appendString is a constant of
// this program without a byte that JSON would escape, or a number.
func (r *refusal) appendBody(b []byte, p problem, traceID []byte) []byte {
	if p.head != nil && r.detail == "" {
		b = append(b, p.head...)
	} else {
		b = appendHead(b, p.status, r.code, r.detail)
	}
	b = r.appendFields(b)
	b = append(append(b, `,"trace_id":"`...), traceID...)
	return append(b, `"}`...)
}

// appendFields writes what belongs to this refusal alone.
func (r *refusal) appendFields(b []byte) []byte {
	if r.scope != "" {
		b = append(append(append(b, `,"scope":"`...), r.scope...), '"')
	}
	if r.state != "" {
		b = appendString(append(b, `,"state":`...), r.state)
	}
	if r.startsAt != 0 {
		b = strconv.AppendInt(append(b, `,"starts_at":`...), r.startsAt, 10)
		b = strconv.AppendInt(append(b, `,"now":`...), r.now, 10)
	}
	if r.wait > 0 {
		b = strconv.AppendInt(append(b, `,"retry_after_ms":`...), wholeMillis(r.wait), 10)
	}
	return b
}

// fullResponse is what a connection beyond maxConnections is told. There is no
// request yet, so it has no trace.
func fullResponse() []byte {
	body := append((&refusal{code: "overloaded", wait: time.Second}).appendFields(append([]byte(nil), problems["overloaded"].head...)), '}')
	head := "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\nRetry-After: 1\r\nConnection: close\r\n"
	return fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// appendHead begins the JSON.
func appendHead(b []byte, status int, code, detail string) []byte {
	b = appendString(append(b, `{"type":"about:blank","title":`...), phrase(status))
	b = strconv.AppendInt(append(b, `,"status":`...), int64(status), 10)
	b = appendString(append(b, `,"code":`...), code)
	return appendString(append(b, `,"detail":`...), detail)
}

// appendString writes a string as JSON, wherever it comes from.
func appendString(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // strings always encode
	return append(b, text...)
}

// statusTooEarly is RFC 8470's; fasthttp does not know it.
const statusTooEarly = 425

var tooEarlyPhrase = []byte("Too Early")

// phrase is the reason phrase of a status.
func phrase(status int) string {
	if status == statusTooEarly {
		return string(tooEarlyPhrase)
	}
	return fasthttp.StatusMessage(status)
}

// wholeSeconds and wholeMillis round up, so that waiting as told is never too
// short.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
func wholeMillis(d time.Duration) int64  { return int64((d + time.Millisecond - 1) / time.Millisecond) }
