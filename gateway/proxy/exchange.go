package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// trip is the memory of one request to an upstream and its answer, kept in a
// pool.
type trip struct {
	request []byte // head as sent
	body    []byte // the client's; not ours
	isHEAD  bool   // the answer has no body, whatever its fields say
	vector  [2][]byte
	buffers net.Buffers

	head   []byte // of the response; fields alias it
	status int
	fields []field
	resp   fasthttp.Response // reads the body
}

var trips = sync.Pool{New: func() any { return new(trip) }}

func (x *trip) release() {
	x.body, x.vector, x.buffers = nil, [2][]byte{}, nil
	x.resp.Reset()
	trips.Put(x)
}

// exchange sends the request over a connection of this server and reads the
// answer into x. It is made once: whatever happens after the first byte is the
// caller's to judge.
//
// It stands in the place of HostClient.Do, which decides by the method whether
// to send again and does not tell whether anything was sent.
func (s *server) exchange(x *trip) error {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for {
		c, err := s.pool.AcquireConn(s.o.Dial, false)
		if errors.Is(err, fasthttp.ErrNoFreeConns) {
			return ErrBusy
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDial, err)
		}
		// Each turn of this loop closes a pooled connection, so it ends.
		if used := c.LastUseTime(); !used.IsZero() && !s.usable(c.Conn(), time.Now(), c.CreatedTime(), used) {
			s.pool.CloseConn(c)
			continue
		}
		reusable, err := s.talk(c.Conn(), x)
		if reusable {
			s.pool.ReleaseConn(c)
		} else {
			s.pool.CloseConn(c)
		}
		if s.retired.Load() { // after the release: whoever retires it may have looked before
			s.pool.CloseIdleConnections()
		}
		return err
	}
}

// usable says that a pooled connection is young enough, still open, and that
// nothing was sent on it unasked: such bytes would be taken for the next answer.
func (s *server) usable(c net.Conn, now, created, used time.Time) bool {
	return now.Sub(created) < s.o.Age && now.Sub(used) < s.o.Idle && quiet(c)
}

// talk makes the exchange on one connection.
func (s *server) talk(c net.Conn, x *trip) (reusable bool, err error) {
	if err := c.SetDeadline(time.Now().Add(s.o.Timeout)); err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if sent, err := x.send(c); err != nil {
		if sent == 0 {
			return false, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return false, unanswered(err)
	}
	r := s.pool.AcquireReader(c)
	defer s.pool.ReleaseReader(r)
	if err := x.receive(r, s.o.MaxBody); err != nil {
		return false, unanswered(err)
	}
	// Bytes behind the answer belong to no request of ours.
	return !x.resp.ConnectionClose() && r.Buffered() == 0, nil
}

// send writes head and body, in one system call where the system can. It
// returns how many bytes the system took, which is all that can be known.
func (x *trip) send(c net.Conn) (int64, error) {
	x.vector = [2][]byte{x.request, x.body}
	x.buffers = x.vector[:]
	return x.buffers.WriteTo(c)
}

func (x *trip) receive(r *bufio.Reader, maxBody int) error {
	if err := x.readHead(r); err != nil {
		return err
	}
	x.resp.SkipBody = x.isHEAD
	return x.resp.ReadLimitBody(r, maxBody)
}

// unanswered sorts what went wrong after the first byte was sent.
func unanswered(err error) error {
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
