package proxy

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

// Bounds are what one client connection may take. Zero fields take the
// defaults below; nothing is ever unbounded.
type Bounds struct {
	Read        time.Duration // whole request, from its first byte; of a new connection, from its start; default 5s
	Write       time.Duration // whole answer; default 10s
	Idle        time.Duration // between two requests; default 60s
	HeaderBytes int           // request line and fields together; default 16 KiB
	BodyBytes   int           // request body, decoded; default 1 MiB
	BodyNow     func() int    // in place of BodyBytes, asked when the head of a request is there; may be nil
	Concurrency int           // connections at a time; one more is told Full and closed; default 16384
	Full        []byte        // a whole HTTP response; by default a bare 503
	// OnError writes the answer to a request that could not be read; the
	// connection is closed after it. There is no Head then. By default the
	// answer is the Fault's status and detail as text.
	OnError func(ctx *fasthttp.RequestCtx, f *Fault)
}

func (b Bounds) withDefaults() Bounds {
	b.Read = cmp.Or(b.Read, 5*time.Second)
	b.Write = cmp.Or(b.Write, 10*time.Second)
	b.Idle = cmp.Or(b.Idle, time.Minute)
	b.HeaderBytes = cmp.Or(b.HeaderBytes, 16<<10)
	b.BodyBytes = cmp.Or(b.BodyBytes, 1<<20)
	if b.BodyNow == nil {
		b.BodyNow = func() int { return b.BodyBytes }
	}
	b.Concurrency = cmp.Or(b.Concurrency, 16<<10)
	if b.Full == nil {
		b.Full = []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
	if b.OnError == nil {
		b.OnError = func(ctx *fasthttp.RequestCtx, f *Fault) { ctx.Error(f.Detail, f.Status) }
	}
	return b
}

// Harden sets every bound of a fasthttp server, and what a proxy needs. The
// server's ConnState is called as before; without a Logger it logs nothing.
// Serve it with a listener from [Guard], which bounds the connections, and leave
// MaxConnsPerIP at zero, since it would hide Guard's connections.
func Harden(s *fasthttp.Server, b Bounds) {
	b = b.withDefaults()
	// Without these three a slow client holds its connection for ever, and so
	// does Shutdown wait.
	s.ReadTimeout, s.WriteTimeout, s.IdleTimeout = b.Read, b.Write, b.Idle
	s.ReadBufferSize = b.HeaderBytes // the only bound on a head
	s.MaxRequestBodySize = b.BodyBytes
	s.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
		return fasthttp.RequestConfig{MaxRequestBodySize: b.BodyNow()}
	}
	// Guard counts the connections, and answers as we do; fasthttp's own answer is
	// text. A worker ends a little after its connection, so it needs room beyond.
	s.Concurrency = 2 * b.Concurrency
	s.StreamRequestBody = false // a body is whole before the handler runs
	// Else a multipart body is parsed, spilled to files, and written anew.
	s.DisablePreParseMultipartForm = true
	// Else names are compared in the client's case by fasthttp itself, and
	// "expect: 100-continue" is overlooked.
	s.DisableHeaderNamesNormalizing = false
	// An answer has what the upstream or the gateway gave it.
	s.NoDefaultServerHeader, s.NoDefaultContentType = true, true
	// Else errors, and with them logs, quote the request.
	s.SecureErrorLogMessage = true
	// And one line is written for each request that cannot be read.
	if s.Logger == nil {
		s.Logger = silence{}
	}
	s.CloseOnShutdown = true
	s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) { b.OnError(ctx, unreadable(ctx.Conn(), err)) }

	then := s.ConnState
	s.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		if g, ok := c.(*boundConn); ok && state == fasthttp.StateIdle {
			g.nextRequest()
		}
		if then != nil {
			then(c, state)
		}
	}
}

// silence takes what fasthttp logs: what its connections ran into, and an Accept
// error, which Serve returns too.
type silence struct{}

func (silence) Printf(string, ...any) {}

var (
	faultRequest  = badRequest("the request cannot be read as HTTP/1.1")
	faultOverhead = badRequest("the request has too many bytes for what it holds: send larger chunks, without extensions")
	faultSlow     = newFault(http.StatusRequestTimeout, "the request did not arrive in time")
	faultBody     = newFault(http.StatusRequestEntityTooLarge, "the body is too large")
	faultLine     = newFault(http.StatusRequestURITooLong, "the request target is too long")
	faultFields   = newFault(http.StatusRequestHeaderFieldsTooLarge, "the header fields are too large together")
)

// unreadable turns fasthttp's error into what the client should know. Some of
// its errors hide their cause, so the connection is asked first.
func unreadable(c net.Conn, err error) *Fault {
	b, _ := c.(*boundConn)
	if b != nil {
		b.linger = true
	}
	var timeout interface{ Timeout() bool }
	var small *fasthttp.ErrSmallBuffer
	switch {
	case b != nil && b.spent():
		return faultOverhead
	case b != nil && b.late, errors.As(err, &timeout) && timeout.Timeout():
		return faultSlow
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return faultBody
	case errors.As(err, &small) && b != nil && !b.lineRead:
		return faultLine
	case errors.As(err, &small):
		return faultFields
	}
	return faultRequest
}
