package server_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rushgate/backend/api"
)

func TestOrdersComeThrough(t *testing.T) {
	t.Parallel()
	for _, c := range calls(t) {
		f := &fakeOrders{order: c.order}
		for end, orders := range ends(t, f) {
			f.asked = nil
			got, err := c.do(orders)
			if err != nil {
				t.Errorf("%s %s: %v", c.name, end, err)
			}
			if diff := cmp.Diff(c.order, got); diff != "" {
				t.Errorf("%s %s: %s", c.name, end, diff)
			}
			if diff := cmp.Diff([]string{c.asked}, f.asked); diff != "" {
				t.Errorf("%s %s: %s", c.name, end, diff)
			}
		}
	}
}

// kind is all that a caller can learn from an error.
type kind struct {
	Mismatch, NotFound, NotModified               bool
	Failed, Unreachable, Late, Ticket, BadRequest bool
	Unknown                                       bool
	Refusal                                       *api.Refusal
	Stale                                         *api.Stale
}

func kindOf(err error) kind {
	refusal, _ := errors.AsType[*api.Refusal](err)
	stale, _ := errors.AsType[*api.Stale](err)
	return kind{
		Mismatch: errors.Is(err, api.ErrMismatch), NotFound: errors.Is(err, api.ErrNotFound), NotModified: errors.Is(err, api.ErrNotModified),
		Failed: errors.Is(err, api.ErrFailed), Unreachable: errors.Is(err, api.ErrUnreachable),
		Late: errors.Is(err, api.ErrTicketExpired), Ticket: errors.Is(err, api.ErrTicketInvalid), BadRequest: errors.Is(err, api.ErrBadRequest),
		Unknown: errors.Is(err, api.ErrUnknown),
		Refusal: refusal, Stale: stale,
	}
}

func TestErrorsComeThrough(t *testing.T) {
	t.Parallel()
	none, some := int64(0), int64(3)
	contract := []error{
		&api.Refusal{Code: api.SoldOut, Left: &some},
		&api.Refusal{Code: api.SoldOut, Left: &none},
		&api.Refusal{Code: api.SoldOut},
		&api.Refusal{Code: api.Duplicate},
		&api.Refusal{Code: api.Ended},
		&api.Refusal{Code: api.NotStarted},
		&api.Refusal{Code: api.Paused},
		&api.Refusal{Code: api.Failed},
		&api.Refusal{Code: api.OrderState, State: api.StatePaid},
		&api.Refusal{Code: api.OrderState, State: api.StateCancelled},
		&api.Refusal{Code: api.OrderState, State: api.StateExpired},
		&api.Stale{Epoch: 1_800_000_000_123, ReseedUntil: 1_800_000_005_123},
		&api.Stale{Epoch: 4},
		&api.Stale{},
		api.ErrMismatch, api.ErrNotFound, api.ErrFailed, api.ErrUnreachable, api.ErrUnknown,
		api.ErrTicketExpired, api.ErrTicketInvalid, api.ErrBadRequest,
	}
	for _, c := range calls(t) {
		f := &fakeOrders{}
		orders := ends(t, f)
		for _, bare := range contract {
			for _, err := range []error{bare, fmt.Errorf("placing: %w", bare), errors.Join(errors.New("lock lost"), bare)} {
				f.err = err
				for end, o := range orders {
					order, got := c.do(o)
					if order != (api.Order{}) {
						t.Errorf("%s %s: an order came with %v", c.name, end, err)
					}
					if diff := cmp.Diff(kindOf(err), kindOf(got)); diff != "" {
						t.Errorf("%s %s: of %v came %v: %s", c.name, end, err, got, diff)
					}
				}
			}
		}
	}
}

// An error that nobody foresaw proves nothing about what was done.
func TestUnforeseenErrorsAreUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range calls(t) {
		f := &fakeOrders{err: errors.New("database is on fire")}
		_, err := c.do(ends(t, f)["over HTTP"])
		if got := kindOf(err); got.Unknown != c.writes || got.Failed == c.writes {
			t.Errorf("%s: got %v, want unknown: %v", c.name, err, c.writes)
		}
	}
}

func TestCatalogueComesThrough(t *testing.T) {
	t.Parallel()
	sale := api.Sale{
		Item: "1001", Epoch: 1_800_000_000_123, ReseedUntil: 1_800_000_005_123, Title: "耳机 <\"24\">", PriceCents: 990,
		StartsAt: 1, EndsAt: 2, State: api.SaleSoldOut, PerUser: 3, Mode: "async",
	}
	for name, cat := range map[string]api.Catalogue{
		"of two":            {Now: 7, ETag: "a,b/+=!", Sales: []api.Sale{sale, {Item: "2", State: api.SaleOpen, Mode: "sync"}}},
		"empty":             {Now: 7, ETag: "0", Sales: []api.Sale{}},
		"nil":               {Now: 7, ETag: "0"},
		"without a tag":     {Now: 7},
		"with an odd tag":   {Now: 7, ETag: `a"b`},
		"with a tag of UTF": {Now: 7, ETag: "ä b"},
	} {
		f := &fakeOrders{cat: cat}
		for end, o := range ends(t, f) {
			got, err := o.Catalogue(t.Context(), "")
			if err != nil {
				t.Errorf("%s %s: %v", name, end, err)
			}
			same := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(api.Catalogue{}, "ETag")}
			if diff := cmp.Diff(cat, got, same); diff != "" {
				t.Errorf("%s %s: %s", name, end, diff)
			}
			_, err = o.Catalogue(t.Context(), got.ETag)
			if unchanged := errors.Is(err, api.ErrNotModified); unchanged != (got.ETag != "") {
				t.Errorf("%s %s: again with tag %q: %v", name, end, got.ETag, err)
			}
			f.cat.ETag += "x"
			if _, err = o.Catalogue(t.Context(), got.ETag); err != nil {
				t.Errorf("%s %s: after a change: %v", name, end, err)
			}
			f.cat = cat
		}
	}
	f := &fakeOrders{err: fmt.Errorf("locked: %w", api.ErrFailed)}
	for end, o := range ends(t, f) {
		if _, err := o.Catalogue(t.Context(), ""); !errors.Is(err, api.ErrFailed) {
			t.Errorf("%s: %v", end, err)
		}
	}
}
