package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/valyala/fasthttp"
)

const (
	maxInterim        = 8    // 1xx answers before the final one
	maxResponseFields = 1000 // beyond any use; the buffer bounds them too
)

// Why a response's head is not taken. What is ambiguous here could be one
// answer to us and two to the client (RFC 9112 section 6.3).
var (
	errStatusLine = errors.New("the status line is not HTTP/1")
	errStatus     = errors.New("the status is not between 100 and 599")
	errSwitch     = errors.New("it switched protocols, which was not asked for")
	errInterim    = errors.New("too many interim responses")
	errFraming    = errors.New("the framing is ambiguous")
	errHeadLF     = errors.New("a line of the head does not end in CR LF")
)

var lf, crlf, headEnd = []byte("\n"), []byte("\r\n"), []byte("\r\n\r\n")

// readHead reads up to the final response's head and checks it. The head is
// left in the reader, for fasthttp to parse and to read the body by.
func (x *trip) readHead(r *bufio.Reader) error {
	for range maxInterim {
		raw, err := peekHead(r)
		if err != nil {
			return err
		}
		x.head = append(x.head[:0], raw...)
		if err := x.parseHead(); err != nil {
			return err
		}
		switch {
		case x.status == http.StatusSwitchingProtocols:
			return errSwitch
		case x.status >= 200:
			return checkFraming(x.head, x.fields)
		}
		// 1xx: swallowed, never taken as final (RFC 9110 section 15.2).
		if _, err := r.Discard(len(raw)); err != nil {
			return err
		}
	}
	return errInterim
}

// peekHead waits until the reader holds a whole head and returns it with its
// empty line, unread. The reader's buffer bounds it.
func peekHead(r *bufio.Reader) ([]byte, error) {
	for have := 0; ; {
		if _, err := r.Peek(have + 1); err != nil {
			return nil, err
		}
		b, _ := r.Peek(r.Buffered())
		if end := bytes.Index(b, headEnd); end >= 0 {
			return b[:end+4], nil
		}
		if bytes.Count(b, lf) != bytes.Count(b, crlf) {
			return nil, errHeadLF // its end would be waited for in vain
		}
		have = len(b)
	}
}

func (x *trip) parseHead() error {
	line, block, _ := bytes.Cut(x.head, crlf)
	var err error
	if x.status, err = parseStatus(line); err != nil {
		return err
	}
	var f *Fault
	if x.fields, f = scanFields(x.fields[:0], block, maxResponseFields); f != nil {
		return errors.New(f.Detail)
	}
	if f := markNamed(x.fields, 0); f != nil {
		return errors.New(f.Detail)
	}
	return nil
}

// parseStatus takes "HTTP/1.x NNN" with or without a reason behind it.
func parseStatus(line []byte) (int, error) {
	const n = len("HTTP/1.1 200")
	if len(line) < n || string(line[:7]) != "HTTP/1." || !isDecimal(line[7:8]) || line[8] != ' ' ||
		!isDecimal(line[9:n]) || len(line) > n && line[n] != ' ' || !isValue(line) {
		return 0, errStatusLine
	}
	if status := cappedInt(line[9:n], 999); 100 <= status && status <= 599 {
		return status, nil
	}
	return 0, errStatus
}

// checkFraming wants at most one word on the length. A transfer coding in an
// HTTP/1.0 response is faulty by definition (RFC 9112 section 6.1).
func checkFraming(head []byte, fields []field) error {
	lengths, length := count(fields, isLength)
	codings, coding := count(fields, isCoding)
	switch {
	case lengths+codings > 1:
		return errFraming
	case lengths == 1 && !isDecimal(length):
		return fmt.Errorf("%w: Content-Length is not a number", errFraming)
	case codings == 1 && (head[7] == '0' || !equalFold(coding, "chunked")):
		return fmt.Errorf("%w: the transfer coding is not chunked", errFraming)
	}
	return nil
}

// answer copies status, end-to-end fields and body to the client's response.
// The fields come from the head that was checked, so never from a trailer.
func (x *trip) answer(to *fasthttp.Response) {
	to.SetStatusCode(x.status)
	for i := range x.fields {
		if f := &x.fields[i]; f.rule&dropResponse == 0 && !f.named {
			to.Header.AddBytesKV(f.name, f.value)
		}
	}
	if x.isHEAD {
		to.SkipBody = true
		if n := x.resp.Header.ContentLength(); n >= 0 {
			to.Header.SetContentLength(n) // of the GET that was not asked
		}
		return
	}
	// The buffers change places, so that both stay in use and nothing is copied.
	spare := to.SwapBody(x.resp.SwapBody(nil))
	x.resp.SwapBody(spare[:0])
}
