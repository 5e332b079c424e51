package server

import (
	"errors"
	"fmt"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

// Of paying and cancelling, too: an answer, not done, and nobody knows stay apart.
func TestLostChangeToldAsFailed(t *testing.T) {
	for name, c := range map[string]struct{ is, want error }{
		"done":          {nil, nil},
		"an answer":     {&api.Refusal{Code: api.OrderState, State: api.StatePaid}, nil},
		"another's":     {api.ErrNotFound, api.ErrNotFound},
		"a lost commit": {fmt.Errorf("%w: broken pipe", order.ErrCommit), api.ErrUnknown},
		"a busy base":   {fmt.Errorf("%w: locked", order.ErrBusy), api.ErrFailed},
		"a guard":       {order.ErrGuard, api.ErrFailed},
		"anything else": {errors.New("disk full"), api.ErrFailed},
	} {
		got := changeError(c.is)
		refusal, _ := errors.AsType[*api.Refusal](c.is)
		told, _ := errors.AsType[*api.Refusal](got)
		if refusal != told || c.want != nil && !errors.Is(got, c.want) || c.is == nil && got != nil {
			t.Errorf("%s: told as %v", name, got)
		}
		if errors.Is(got, api.ErrFailed) && errors.Is(got, api.ErrUnknown) {
			t.Errorf("%s: told as both not done and unknown: %v", name, got)
		}
	}
}
