package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"rushgate/backend/api"
)

func TestProblemOf(t *testing.T) {
	t.Parallel()
	left := int64(1)
	for _, test := range []struct {
		err    error
		status int
		code   api.Code
	}{
		{&api.Refusal{Code: api.SoldOut, Left: &left}, http.StatusConflict, "sold_out"},
		{&api.Refusal{Code: api.Failed}, http.StatusConflict, "order_failed"},
		{&api.Refusal{Code: api.OrderState, State: api.StatePaid}, http.StatusConflict, "order_state"},
		{&api.Stale{Epoch: 4}, http.StatusGone, "stale"},
		{api.ErrMismatch, http.StatusUnprocessableEntity, "idempotency_mismatch"},
		{api.ErrNotFound, http.StatusNotFound, "no_such_order"},
		{api.ErrFailed, http.StatusServiceUnavailable, "not_done"},
		{api.ErrUnreachable, http.StatusServiceUnavailable, "unreachable"},
		{api.ErrTicketExpired, http.StatusServiceUnavailable, "ticket_expired"},
		{api.ErrTicketInvalid, http.StatusForbidden, "bad_ticket"},
		{api.ErrBadRequest, http.StatusBadRequest, "bad_request"},
		{api.ErrUnknown, http.StatusGatewayTimeout, "unknown_outcome"},
		{errors.Join(api.ErrFailed, api.ErrUnknown), http.StatusGatewayTimeout, "unknown_outcome"},
		{errors.Join(&api.Refusal{Code: api.SoldOut}, api.ErrUnknown), http.StatusGatewayTimeout, "unknown_outcome"},
	} {
		for _, err := range []error{test.err, fmt.Errorf("while placing: %w", test.err)} {
			p, ok := api.ProblemOf(err)
			if !ok || p.Status != test.status || p.Code != test.code || p.Title != http.StatusText(test.status) {
				t.Errorf("%v: got %+v, %v, want %d %s", err, p, ok, test.status, test.code)
			}
		}
	}
	for _, err := range []error{errors.New("disk full"), api.ErrNotModified} {
		if p, ok := api.ProblemOf(err); ok {
			t.Errorf("%v: got %+v, want none", err, p)
		}
	}
}

// What went wrong inside stays inside.
func TestProblemTellsNothingInward(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{api.ErrFailed, api.ErrUnknown, api.ErrUnreachable, api.ErrNotFound, api.ErrMismatch} {
		if p, _ := api.ProblemOf(fmt.Errorf("%w: dial rushgate:secret@10.0.0.1", kind)); p.Detail != "" {
			t.Errorf("%v: detail %q", kind, p.Detail)
		}
	}
}

func TestValidNames(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]struct{ item, id bool }{
		"":        {false, false},
		"1001":    {true, true},
		"aZ09_-":  {true, true},
		"a.b":     {false, true},
		"a/b":     {false, true},
		"a b":     {false, false},
		"a\x7f":   {false, false},
		"a\x00":   {false, false},
		"ü":       {false, false},
		"!~\"\\%": {false, true},
	} {
		if got := api.ValidItem(s); got != want.item {
			t.Errorf("ValidItem(%q) = %v", s, got)
		}
		if got := api.ValidOrderID(s); got != want.item {
			t.Errorf("ValidOrderID(%q) = %v", s, got)
		}
		if got := api.ValidID(s); got != want.id {
			t.Errorf("ValidID(%q) = %v", s, got)
		}
	}
}
