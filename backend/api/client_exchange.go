package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// question is one request.
type question struct {
	op     string // for errors
	method string
	target string // path and query
	ticket string // "" for none
	etag   string // "" for none
	body   []byte
	writes bool // may change something, so that a lost answer is an unknown outcome
	want   int  // status of the answer that is no problem
	limit  int  // bytes of the answer's body
}

// answer is a whole answer; it shares no memory with a connection.
type answer struct {
	status int
	etag   string
	body   []byte
}

// lost is the error of a question that may have been sent and has no answer of
// the contract.
func (q *question) lost(cause error) error {
	if q.writes {
		return fmt.Errorf("%w: %s: %w", ErrUnknown, q.op, cause)
	}
	return q.notDone(cause)
}

// notDone is the error of a question that was not sent, or that changes
// nothing.
func (q *question) notDone(cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrFailed, q.op, cause)
}

var errClosed = errors.New("the client is closed")

// ask sends q to one server, to another only if nothing was sent to the one
// before, and returns what it answered.
func (c *Client) ask(ctx context.Context, q question) (answer, error) {
	if c.closed.Load() {
		return answer{}, q.notDone(errClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	q.target = c.prefix + q.target

	cause := errors.New("every server is marked down")
	for range c.servers {
		s := c.pick(c.now())
		if s == nil {
			break
		}
		a, sent, err := s.exchange(ctx, &q)
		switch {
		case err == nil:
			s.markUp()
			return a, nil
		case sent:
			return answer{}, q.lost(fmt.Errorf("%s: %w", s.addr, err))
		case !unreachable(ctx, err):
			return answer{}, q.notDone(fmt.Errorf("%s: %w", s.addr, err))
		}
		s.markDown(c.now())
		cause = err
	}
	return answer{}, fmt.Errorf("%w: %s: %w", ErrUnreachable, q.op, cause)
}

// unreachable says that err speaks about the server. A dial that was cut short
// because the caller had no time left says nothing about it.
func unreachable(ctx context.Context, err error) bool {
	_, dial := errors.AsType[dialError](err)
	return dial && left(ctx) > 0
}

// left returns how long ctx, which has a deadline, still lasts; nothing if it
// was cancelled.
func left(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	deadline, _ := ctx.Deadline()
	return time.Until(deadline)
}

// exchange sends q over one connection and reads the answer, once. sent is false
// only if not a byte of q can have left.
//
// The pool's own Do would not tell a wait for a connection that ran out from an
// answer that didn't come, sends a GET up to five times, and doesn't look at ctx.
func (s *server) exchange(ctx context.Context, q *question) (a answer, sent bool, err error) {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)

	remaining := left(ctx)
	if remaining <= 0 {
		return answer{}, false, over(ctx)
	}
	held, err := s.pool.AcquireConn(remaining, false)
	if err != nil {
		return answer{}, false, fmt.Errorf("no connection: %w", err)
	}
	if left(ctx) <= 0 {
		s.pool.ReleaseConn(held)
		return answer{}, false, over(ctx)
	}

	conn := held.Conn()
	undisturbed := boundBy(ctx, conn)
	a, reusable, err := s.roundTrip(conn, q)
	if undisturbed() && reusable && !s.closed.Load() {
		s.pool.ReleaseConn(held)
	} else {
		s.pool.CloseConn(held)
	}
	return a, true, err
}

// over says why there was no time left.
func over(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// boundBy ends reads and writes on conn when ctx ends, by its deadline or by a
// cancel. The function it returns lifts that, and is false if conn may be
// disturbed at any moment.
func boundBy(ctx context.Context, conn net.Conn) func() bool {
	past := time.Unix(1, 0)
	// A connection that takes no deadline is broken already.
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(past) })
}

// roundTrip writes q and reads the answer. reusable says that conn is ready for
// another.
func (s *server) roundTrip(conn net.Conn, q *question) (a answer, reusable bool, err error) {
	if err := s.write(conn, q); err != nil {
		return answer{}, false, fmt.Errorf("sending: %w", err)
	}
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	r := s.pool.AcquireReader(conn)
	defer s.pool.ReleaseReader(r)
	if err := resp.ReadLimitBody(r, q.limit); err != nil {
		return answer{}, false, fmt.Errorf("reading the answer: %w", err)
	}
	a = answer{
		status: resp.StatusCode(),
		etag:   string(resp.Header.Peek(fasthttp.HeaderETag)),
		body:   bytes.Clone(resp.Body()),
	}
	// More bytes than one answer would be taken for the next one's.
	return a, !resp.ConnectionClose() && r.Buffered() == 0, nil
}

func (s *server) write(conn net.Conn, q *question) error {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.Header.SetMethod(q.method)
	req.Header.SetHost(s.addr)
	req.Header.SetRequestURI(q.target)
	req.Header.SetUserAgent("rushgate")
	if q.ticket != "" {
		req.Header.Set(HeaderTicket, q.ticket)
	}
	if q.etag != "" {
		req.Header.Set(fasthttp.HeaderIfNoneMatch, q.etag)
	}
	if len(q.body) > 0 {
		req.Header.SetContentType("application/json")
		req.SetBodyRaw(q.body)
	}
	w := s.pool.AcquireWriter(conn)
	defer s.pool.ReleaseWriter(w)
	if err := req.Write(w); err != nil {
		return err
	}
	return w.Flush()
}
