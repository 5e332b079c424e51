package admit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/gateway/limit"
	"rushgate/lua"
)

// fails is an answer of the backend.
func fails(err error) func(context.Context, api.Ticket) (api.Order, error) {
	return func(context.Context, api.Ticket) (api.Order, error) { return api.Order{}, err }
}

func recorded(o api.Order, err error) func(api.Ticket, api.Code) (api.Order, error) {
	return func(api.Ticket, api.Code) (api.Order, error) { return o, err }
}

func found(o api.Order, err error) func() (api.Order, error) {
	return func() (api.Order, error) { return o, err }
}

// The whole decision after the mark: what is asked of the backend, in order, and
// what the buyer is told.
func TestVerdictAndAnswerMakeTheOutcome(t *testing.T) {
	none := []string(nil)
	order := api.Order{OrderID: "7", Item: "1", User: "u", BizID: "u", Qty: 1, State: api.StatePaid}
	soldOut := &api.Refusal{Code: api.SoldOut}
	tests := map[string]struct {
		filter *filter
		repeat bool
		orders *orders
		calls  []string
		told   string
	}{
		"admitted":                        {always(lua.Admitted), false, &orders{}, []string{"place redis 5"}, "order 9"},
		"again":                           {always(lua.Again), false, &orders{}, []string{"place redis 5"}, "order 9"},
		"again, repeat":                   {always(lua.Again), true, &orders{}, []string{"place redis 5"}, "order 9"},
		"admitted, SQL has none":          {always(lua.Admitted), false, &orders{place: fails(soldOut)}, []string{"place redis 5"}, "refused sold_out"},
		"admitted, repeat, SQL has none":  {always(lua.Admitted), true, &orders{place: fails(soldOut)}, []string{"place redis 5"}, "refused sold_out"},
		"admitted, the key is another's":  {always(lua.Admitted), false, &orders{place: fails(api.ErrMismatch)}, []string{"place redis 5"}, "mismatch"},
		"admitted, not done":              {always(lua.Admitted), false, &orders{place: fails(api.ErrFailed)}, []string{"place redis 5"}, "failed"},
		"admitted, nobody reached":        {always(lua.Admitted), false, &orders{place: fails(api.ErrUnreachable)}, []string{"place redis 5"}, "failed"},
		"admitted, answer lost":           {always(lua.Admitted), false, &orders{place: fails(api.ErrUnknown)}, []string{"place redis 5"}, "unknown"},
		"admitted, nameless error":        {always(lua.Admitted), false, &orders{place: fails(errors.New("disk"))}, []string{"place redis 5"}, "unknown"},
		"admitted, time over":             {always(lua.Admitted), false, &orders{place: fails(context.DeadlineExceeded)}, []string{"place redis 5"}, "unknown"},
		"admitted, not done in time":      {always(lua.Admitted), false, &orders{place: fails(fmt.Errorf("%w: %w", api.ErrFailed, context.DeadlineExceeded))}, []string{"place redis 5"}, "failed"},
		"admitted, an answer to find":     {always(lua.Admitted), false, &orders{place: fails(api.ErrNotFound)}, []string{"place redis 5"}, "unknown"},
		"admitted, refused and in doubt":  {always(lua.Admitted), false, &orders{place: fails(errors.Join(soldOut, api.ErrUnknown))}, []string{"place redis 5"}, "unknown"},
		"filter gone":                     {gone(), false, &orders{}, []string{"place db 5"}, "order 9"},
		"filter gone, repeat":             {gone(), true, &orders{}, []string{"place db 5"}, "order 9"},
		"filter gone, too early":          {gone(), true, &orders{place: fails(&api.Refusal{Code: api.NotStarted})}, []string{"place db 5"}, "refused not_started"},
		"filter gone, answer lost":        {gone(), false, &orders{place: fails(api.ErrUnknown)}, []string{"place db 5"}, "unknown"},
		"filter gone, SQL has none":       {gone(), false, &orders{place: fails(soldOut)}, []string{"place db 5"}, "refused sold_out"},
		"no epoch on the DB path":         {gone(), false, &orders{place: fails(&api.Stale{Epoch: 6})}, []string{"place db 5"}, "unknown"},
		"sold out":                        {always(lua.SoldOut), false, &orders{}, none, "refused sold_out"},
		"duplicate":                       {always(lua.Duplicate), false, &orders{}, none, "refused duplicate"},
		"ended":                           {always(lua.Ended), false, &orders{}, none, "refused ended"},
		"not started":                     {always(lua.NotStarted), false, &orders{}, none, "refused not_started"},
		"paused":                          {always(lua.Paused), false, &orders{}, none, "refused paused"},
		"sold out, repeat":                {always(lua.SoldOut), true, &orders{}, []string{"refuse sold_out 5"}, "refused sold_out"},
		"duplicate, repeat":               {always(lua.Duplicate), true, &orders{}, []string{"refuse duplicate 5"}, "refused duplicate"},
		"ended, repeat":                   {always(lua.Ended), true, &orders{}, []string{"refuse ended 5"}, "refused ended"},
		"sold out, repeat with an order":  {always(lua.SoldOut), true, &orders{refuse: recorded(order, nil)}, []string{"refuse sold_out 5"}, "order 7"},
		"sold out, repeat refused before": {always(lua.SoldOut), true, &orders{refuse: recorded(api.Order{}, &api.Refusal{Code: api.Duplicate})}, []string{"refuse sold_out 5"}, "refused duplicate"},
		"sold out, repeat of another":     {always(lua.SoldOut), true, &orders{refuse: recorded(api.Order{}, api.ErrMismatch)}, []string{"refuse sold_out 5"}, "mismatch"},
		"sold out, repeat not recorded":   {always(lua.SoldOut), true, &orders{refuse: recorded(api.Order{}, api.ErrFailed)}, []string{"refuse sold_out 5"}, "unknown"},
		"sold out, repeat, nobody there":  {always(lua.SoldOut), true, &orders{refuse: recorded(api.Order{}, api.ErrUnreachable)}, []string{"refuse sold_out 5"}, "unknown"},
		"sold out, repeat, answer lost":   {always(lua.SoldOut), true, &orders{refuse: recorded(api.Order{}, api.ErrUnknown)}, []string{"refuse sold_out 5"}, "unknown"},
		"not started, repeat":             {always(lua.NotStarted), true, &orders{}, []string{"find"}, "refused not_started"},
		"paused, repeat":                  {always(lua.Paused), true, &orders{}, []string{"find"}, "refused paused"},
		"paused, repeat with an order":    {always(lua.Paused), true, &orders{find: found(order, nil)}, []string{"find"}, "order 7"},
		"paused, repeat refused before":   {always(lua.Paused), true, &orders{find: found(api.Order{Item: "1", Qty: 1, State: api.StateRefused, Code: api.SoldOut}, nil)}, []string{"find"}, "refused sold_out"},
		"paused, repeat of another item":  {always(lua.Paused), true, &orders{find: found(api.Order{OrderID: "7", Item: "2", Qty: 1}, nil)}, []string{"find"}, "mismatch"},
		"paused, repeat of two":           {always(lua.Paused), true, &orders{find: found(api.Order{OrderID: "7", Item: "1", Qty: 2}, nil)}, []string{"find"}, "mismatch"},
		"paused, repeat not looked up":    {always(lua.Paused), true, &orders{find: found(api.Order{}, api.ErrFailed)}, []string{"find"}, "unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x := open(t, tt.filter, func(o *Options) { o.Orders = tt.orders })
			r := buys("u")
			r.Repeat = tt.repeat
			if got := x.told(t, r); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
			if diff := cmp.Diff(tt.calls, tt.orders.asked()); diff != "" {
				t.Errorf("asked of the backend (-want +got)\n%s", diff)
			}
			tickets := x.meter.of("path redis") + x.meter.of("path db") + x.meter.of("path refuse")
			if want := len(tt.calls) - count(tt.calls, "find"); tickets != want {
				t.Errorf("%d tickets counted, want %d", tickets, want)
			}
		})
	}
}

func count(calls []string, call string) (n int) {
	for _, c := range calls {
		if c == call {
			n++
		}
	}
	return n
}

func TestWithoutFilterEverythingTakesTheDBPath(t *testing.T) {
	x := open(t, nil, nil)
	if got := x.told(t, buys("u")); got != "order 9" {
		t.Errorf("told %q", got)
	}
	if diff := cmp.Diff([]string{"place db 5"}, x.orders.asked()); diff != "" {
		t.Error(diff)
	}
}

// With the backend gone no units are spent on nobody.
func TestBackendDownSpendsUnits(t *testing.T) {
	f := always(lua.Admitted)
	x := open(t, f, nil)
	x.orders.place = fails(api.ErrUnreachable)
	if got := x.told(t, buys("first")); got != "failed" {
		t.Fatalf("told %q", got)
	}
	for _, r := range []Request{buys("u"), again(buys("u"))} {
		if got := x.told(t, r); got != "overloaded" {
			t.Errorf("told %q, want overloaded", got)
		}
	}
	if n := x.meter.of("verdict admitted"); n != 1 {
		t.Errorf("the filter admitted %d times, want only the one that found out", n)
	}
	if err := x.opt.Catalogue.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.orders.place = nil
	if got := x.told(t, buys("u")); got != "order 9" {
		t.Errorf("after a renewal: told %q", got)
	}
}

func TestItemOffTheCatalogue(t *testing.T) {
	x := open(t, always(lua.Admitted), nil)
	r := buys("u")
	r.Item = "2"
	if got := x.told(t, r); got != "no such item" {
		t.Errorf("told %q", got)
	}
}

// Over the limit on refusals that are made final a repeat hears that nobody
// knows: neither its refusal nor that nothing was done would be true.
func TestRefuseLimitIsOver(t *testing.T) {
	for name, tt := range map[string]struct {
		qps   float64
		burst int
		calls int
	}{
		"spent":               {1e-6, 2, 2},
		"closed":              {0, 0, 0},
		"closed with a burst": {0, 50, 0},
	} {
		for code, f := range map[string]*filter{"refuse": always(lua.SoldOut), "find": always(lua.Paused)} {
			t.Run(name+" "+code, func(t *testing.T) {
				x := open(t, f, func(o *Options) { o.Refuse = limit.Rate{QPS: tt.qps, Burst: tt.burst} })
				for i := range 4 {
					got := x.told(t, again(buys("u")))
					if want := i >= tt.calls; (got == "unknown") != want {
						t.Errorf("repeat %d: told %q, want unknown: %t", i, got, want)
					}
				}
				if n := len(x.orders.asked()); n != tt.calls {
					t.Errorf("%d calls, want %d", n, tt.calls)
				}
				// A first try needs nothing of that.
				if got := x.told(t, buys("first")); got == "unknown" {
					t.Errorf("a first try: told %q", got)
				}
			})
		}
	}
}

// A ticket is good for as long as its gateway waits, never longer than its
// window.
func TestTicketOutlivesItsGateway(t *testing.T) {
	for name, tt := range map[string]struct{ timeout, window, want time.Duration }{
		"the wait is shorter":   {3 * time.Second, 30 * time.Second, 3 * time.Second},
		"the window is shorter": {30 * time.Second, 3 * time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := open(t, always(lua.Admitted), func(o *Options) { o.Timeout, o.Window = tt.timeout, tt.window })
				var exp int64
				x.orders.place = func(_ context.Context, k api.Ticket) (api.Order, error) {
					exp = k.Exp
					return made(k), nil
				}
				if got := x.told(t, buys("u")); got != "order 9" {
					t.Fatalf("told %q", got)
				}
				if want := time.Now().Add(tt.want).UnixMilli(); exp != want {
					t.Errorf("the ticket ends %d ms from when it should", exp-want)
				}
			})
		})
	}
}

// The end of a ticket is judged by SQL's clock, to which the sale's is close; that
// of a node may be minutes away.
func TestTicketEndsByTheClockOfTheNode(t *testing.T) {
	for name, off := range map[string]time.Duration{"behind": 5 * time.Minute, "ahead": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sale := func() int64 { return time.Now().Add(off).UnixMilli() }
				x := open(t, always(lua.Admitted), func(o *Options) { o.NowMS = sale })
				var left int64
				x.orders.place = func(_ context.Context, k api.Ticket) (api.Order, error) {
					left = k.Exp - sale()
					return made(k), nil
				}
				if got := x.told(t, buys("u")); got != "order 9" {
					t.Fatalf("told %q", got)
				}
				if left <= 0 || left > (30*time.Second).Milliseconds() {
					t.Errorf("the ticket is good for %d ms", left)
				}
			})
		})
	}
}
