package server

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"rushgate/backend/api"
	"rushgate/gateway/limit"
	"rushgate/gateway/proxy"
)

// exchange is one request on its way through the stages of its route. It and
// all its slices are valid until the handler returns; what lives longer is
// copied.
type exchange struct {
	s      *Server
	policy *policy // that was in force when it began
	ctx    *fasthttp.RequestCtx
	head   proxy.Head
	route  *route
	stage  string // the one that is running, for the metric of refusals
	at     time.Time

	traceparent [traceparentLen]byte // for upstreams

	peer   netip.Addr // the other end of the connection
	client netip.Addr // the client's address as far as it can be believed

	forwarded [][]byte // the lines of X-Forwarded-For
	buf       []byte   // for the body of a refusal

	arg      []byte    // what the path names: an item, an order
	upstream string    // of a proxied route
	sale     *api.Sale // of arg, as this gateway knows it
	user     []byte    // verified by the stage identity; before it nil
	bizID    []byte
	qty      int
	repeat   bool           // the client says that it has sent this key before
	limit    limit.Decision // of the scope that refused
	acting   bool           // others are being asked to do something, so it may have been done

	outcome string // for the metric: the code of a refusal
	err     error  // what a 5xx answer hides
}

// stage is one step of a route. It answers and returns false, or returns true
// for the next. Stages run in the order of the route's list.
type stage struct {
	name string
	run  func(*exchange) bool
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// handle is the fasthttp handler: it finds the route and runs its stages.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	x, _ := exchanges.Get().(*exchange)
	x.s, x.policy, x.ctx, x.at, x.route = s, s.policy.Load(), ctx, s.received(ctx), &s.unrouted
	x.serve()
	s.meter.answered(x)
	// Three fields keep their memory; nothing else may outlive the request.
	*x = exchange{head: x.head, forwarded: x.forwarded[:0], buf: x.buf[:0]}
	exchanges.Put(x)
}

// serve runs the stages until one answers.
func (x *exchange) serve() {
	defer x.rescue()
	if x.through(x.s.first) {
		x.through(x.route.stages)
	}
}

func (x *exchange) through(stages []stage) bool {
	for i := range stages {
		x.stage = stages[i].name
		if !stages[i].run(x) {
			return false
		}
	}
	return true
}

// rescue answers for a stage that panicked, so that it takes nobody else down.
// What others were being asked to do may have been done.
func (x *exchange) rescue() {
	p := recover() //nolint:revive // serve defers it
	if p == nil {
		return
	}
	x.s.meter.panicked(x, p)
	if x.acting {
		x.refuse(x.unknown())
		return
	}
	x.no("internal_server_error")
}

// refuse answers with a refusal. It returns false, for a stage to return.
func (x *exchange) refuse(r *refusal) bool {
	x.s.meter.refused(x.stage, r)
	x.outcome = r.code
	r.write(x)
	return false
}

// no is a refusal that its code alone explains.
func (x *exchange) no(code string) bool { return x.refuse(&refusal{code: code}) }

// bad is a 400 with a sentence of its own.
func (x *exchange) bad(detail string) bool {
	return x.refuse(&refusal{code: "bad_request", detail: detail})
}

// json answers with a body that the response may keep.
func (x *exchange) json(status int, body []byte) bool {
	x.ctx.Response.SetStatusCode(status)
	x.ctx.Response.Header.SetContentType("application/json")
	x.ctx.Response.Header.Set("Cache-Control", "no-store")
	x.ctx.Response.SetBodyRaw(body)
	return false
}

// The parts of a traceparent of version 00 (W3C Trace Context, level 1):
// version, trace id, parent id and flags, in lower-case hex.
const (
	traceparentLen       = 55
	traceFrom, traceTo   = 3, 35
	parentFrom, parentTo = 36, 52
)

// traceID is 32 hex digits.
func (x *exchange) traceID() []byte { return x.traceparent[traceFrom:traceTo] }

// trace gives the request its ids: the trace of a valid traceparent goes on,
// otherwise a new one begins.
func trace(x *exchange) bool {
	var ids [24]byte
	for i := range 3 {
		binary.NativeEndian.PutUint64(ids[8*i:], rand.Uint64()) //nolint:gosec // ids tell requests apart, they guard nothing
	}
	b := append(x.traceparent[:0], "00-"...)
	b = hex.AppendEncode(b, ids[:16])
	b = append(b, '-')
	b = hex.AppendEncode(b, ids[16:])
	_ = append(b, "-01"...) // fills the array
	return true
}

// adopt continues the client's trace where its traceparent is valid.
func (x *exchange) adopt() {
	v, n := x.head.Get("traceparent")
	if n != 1 || len(v) != traceparentLen || string(v[:3]) != "00-" || v[traceTo] != '-' || v[parentTo] != '-' {
		return
	}
	if id := v[traceFrom:traceTo]; isTraceID(id) && isTraceID(v[parentFrom:parentTo]) {
		copy(x.traceparent[traceFrom:], id)
	}
}

// isTraceID: lower-case hex, not all zero.
func isTraceID(id []byte) bool {
	zero := true
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
		zero = zero && c == '0'
	}
	return !zero
}

// peerOf is the address of the other end of the connection.
func peerOf(ctx *fasthttp.RequestCtx) netip.Addr {
	if a, ok := ctx.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
