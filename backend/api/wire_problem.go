package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Codes of problems that are no refusals.
const (
	CodeStale         Code = "stale"
	CodeMismatch      Code = "idempotency_mismatch"
	CodeNoSuchOrder   Code = "no_such_order"
	CodeNotDone       Code = "not_done"
	CodeUnreachable   Code = "unreachable"
	CodeUnknown       Code = "unknown_outcome"
	CodeBadTicket     Code = "bad_ticket"
	CodeTicketExpired Code = "ticket_expired"
	CodeBadRequest    Code = "bad_request"
)

// ErrBadRequest says that the server could not read the request, so nothing was
// done: it wraps ErrFailed.
var ErrBadRequest = fmt.Errorf("the request is not of the contract: %w", ErrFailed)

// Problem is the body of every answer that is neither 2xx nor 304 (RFC 9457,
// with members of our own). A reader goes by Status and Code and ignores members
// that it doesn't know.
type Problem struct {
	Title  string `json:"title,omitempty"` // the status' phrase, as RFC 9457 section 4.2.1 wants it without a type
	Status int    `json:"status"`
	Code   Code   `json:"code"`
	Detail string `json:"detail,omitempty"` // for people: what to put right

	Left        *int64 `json:"left,omitempty"`         // of a Refusal
	State       State  `json:"state,omitempty"`        // of a Refusal
	Epoch       *int64 `json:"epoch,omitempty"`        // of a Stale
	ReseedUntil int64  `json:"reseed_until,omitempty"` // of a Stale, Unix milliseconds; 0: no reseed runs
}

// NewProblem returns a problem with the title that belongs to its status.
func NewProblem(status int, code Code, detail string) Problem {
	return Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// rows is the one table between errors and answers, read in both directions. The
// first row that an error wraps is its answer: unknown before all, since a doubt
// outweighs whatever else is known; then the narrower before the wider.
// Refusal and Stale carry members and stand beside it.
var rows = []struct {
	err    error
	status int
	code   Code
	tell   bool   // the error's own text helps the other side and tells nothing inward
	advice string // what the reader of the answer looks at
}{
	{err: ErrUnknown, status: http.StatusGatewayTimeout, code: CodeUnknown},
	{err: ErrMismatch, status: http.StatusUnprocessableEntity, code: CodeMismatch},
	{err: ErrNotFound, status: http.StatusNotFound, code: CodeNoSuchOrder},
	{err: ErrTicketExpired, status: http.StatusServiceUnavailable, code: CodeTicketExpired, tell: true,
		advice: "if it stays so, compare the clocks of gateway and backend"},
	{err: ErrTicketInvalid, status: http.StatusForbidden, code: CodeBadTicket, tell: true,
		advice: "check that tickets.keys holds the same ids and secrets at the gateway and at the backend"},
	{err: ErrBadRequest, status: http.StatusBadRequest, code: CodeBadRequest, tell: true,
		advice: "check that gateway and backend are of one version"},
	{err: ErrUnreachable, status: http.StatusServiceUnavailable, code: CodeUnreachable},
	{err: ErrFailed, status: http.StatusServiceUnavailable, code: CodeNotDone},
}

// ProblemOf returns the answer that tells err. It is false for an error that is
// none of the contract's: after such a one, a change may have been made.
func ProblemOf(err error) (Problem, bool) {
	if !errors.Is(err, ErrUnknown) {
		if r, ok := errors.AsType[*Refusal](err); ok {
			return refused(r), true
		}
		if s, ok := errors.AsType[*Stale](err); ok {
			return stale(s), true
		}
	}
	for _, row := range rows {
		if !errors.Is(err, row.err) {
			continue
		}
		detail := ""
		if row.tell {
			detail = err.Error()
		}
		return NewProblem(row.status, row.code, detail), true
	}
	return Problem{}, false
}

func refused(r *Refusal) Problem {
	p := NewProblem(http.StatusConflict, r.Code, "")
	p.Left, p.State = r.Left, r.State
	return p
}

func stale(s *Stale) Problem {
	p := NewProblem(http.StatusGone, CodeStale, "")
	p.Epoch, p.ReseedUntil = &s.Epoch, s.ReseedUntil
	return p
}

// parseProblem reads an answer with this status back into the error that it
// tells. It is nil if the answer is none of the contract's: a proxy between the
// two ends answers 404 and 503 too, some of them after the request went through,
// and knows nothing of what was done. So the status alone proves nothing: the
// body must say the same.
func parseProblem(status int, body []byte) error {
	var p Problem
	if json.Unmarshal(body, &p) != nil || p.Code == "" || p.Status != 0 && p.Status != status {
		return nil //nolint:nilerr // a body that is no problem proves nothing
	}
	switch {
	case status == http.StatusConflict:
		return p.refusal()
	case status == http.StatusGone && p.Code == CodeStale && p.Epoch != nil:
		return &Stale{Epoch: *p.Epoch, ReseedUntil: p.ReseedUntil}
	case status == http.StatusServiceUnavailable:
		return p.failure()
	}
	return p.row(status)
}

// refusal returns nil for a code or a state that this version doesn't know.
func (p *Problem) refusal() error {
	if !p.Code.known() || p.Code == OrderState && !p.State.known() {
		return nil
	}
	return &Refusal{Code: p.Code, Left: p.Left, State: p.State}
}

// failure takes any code but the one that says the opposite: a shop's own
// service has reasons of its own why it did nothing.
func (p *Problem) failure() error {
	if p.Code == CodeUnknown {
		return nil
	}
	if err := p.row(http.StatusServiceUnavailable); err != nil {
		return err
	}
	return fmt.Errorf("%w: %.64q", ErrFailed, string(p.Code))
}

func (p *Problem) row(status int) error {
	for _, row := range rows {
		switch {
		case row.status != status || row.code != p.Code:
		case row.advice != "":
			return fmt.Errorf("%w (%s)", row.err, row.advice)
		default:
			return row.err
		}
	}
	return nil
}
