package admit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/lua"
)

// held is a backend whose answer waits until it is let go.
func held(answer <-chan error) func(context.Context, api.Ticket) (api.Order, error) {
	return func(ctx context.Context, t api.Ticket) (api.Order, error) {
		select {
		case err := <-answer:
			if err != nil {
				return api.Order{}, err
			}
			return made(t), nil
		case <-ctx.Done():
			return api.Order{}, ctx.Err()
		}
	}
}

// start buys in the background.
func (x *fixture) start(t *testing.T, r Request) <-chan string {
	t.Helper()
	told := make(chan string, 1)
	go func() { told <- word(x.Buy(t.Context(), r)) }()
	return told
}

func TestThousandClicksWithOneKeyAskOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		told string
	}{
		"order":    {nil, "order 9"},
		"sold out": {&api.Refusal{Code: api.SoldOut}, "refused sold_out"},
		"unknown":  {api.ErrUnknown, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := make(chan error)
				x := open(t, always(lua.Admitted), nil)
				x.orders.place = held(answer)
				var told []<-chan string
				for range 1001 {
					told = append(told, x.start(t, buys("u")))
				}
				synctest.Wait()
				answer <- tt.err
				for i, c := range told {
					if got := <-c; got != tt.told {
						t.Fatalf("click %d was told %q, want %q", i, got, tt.told)
					}
				}
				if diff := cmp.Diff([]string{"place redis 5"}, x.orders.asked()); diff != "" {
					t.Error(diff)
				}
				if n := len(x.flights.byKey); n != 0 {
					t.Errorf("%d flights are left", n)
				}
			})
		})
	}
}

// Another item or quantity under a key that is in flight is a mismatch at once;
// another user's key is another key.
func TestJoinedForSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		x := open(t, always(lua.Admitted), nil)
		x.orders.place = held(answer)
		first := x.start(t, buys("u"))
		synctest.Wait()
		for name, change := range map[string]func(*Request){
			"item":     func(r *Request) { r.Item = "2" },
			"quantity": func(r *Request) { r.Qty = 2 },
		} {
			r := buys("u")
			change(&r)
			if got := x.told(t, r); got != "mismatch" {
				t.Errorf("another %s: told %q", name, got)
			}
		}
		other := buys("u")
		other.User = "v"
		second := x.start(t, other)
		synctest.Wait()
		if n := len(x.orders.asked()); n != 2 {
			t.Errorf("%d purchases under way, want 2", n)
		}
		answer <- nil
		answer <- nil
		if a, b := <-first, <-second; a != "order 9" || b != "order 9" {
			t.Errorf("told %q and %q", a, b)
		}
	})
}

// As soon as anybody else has sent the key, a refusal of the filter is made final
// in SQL before it is told to either; while nobody has, it is told as it is.
func TestJoinerHearsARefusalThatWasNotRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		clicks int
		calls  []string
	}{
		"alone":  {1, nil},
		"joined": {2, []string{"refuse duplicate 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slow{}
				x := open(t, s.filter(), nil)
				var told []<-chan string
				for range tt.clicks {
					told = append(told, x.start(t, buys("u")))
					synctest.Wait()
				}
				s.answer(0, func(lua.Request) lua.Verdict { return lua.Duplicate })
				for _, c := range told {
					if got := <-c; got != "refused duplicate" {
						t.Errorf("told %q", got)
					}
				}
				if diff := cmp.Diff(tt.calls, x.orders.asked()); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// After the refusal of a first try is settled nobody joins it any more, so the
// next with the key is asked about anew.
func TestSealedFlightIsJoined(t *testing.T) {
	fs := flights{byKey: map[key]*flight{}}
	k, r := key{"u", "b"}, buys("u")
	first, joined := fs.enter(k, &r)
	if joined || fs.seal(k, first) {
		t.Fatal("the first was not alone")
	}
	second, joined := fs.enter(k, &r)
	if joined || second == first {
		t.Fatal("the second joined a flight that was sealed")
	}
	fs.land(k, first, api.Order{}, errGone)
	if f, joined := fs.enter(k, &r); !joined || f != second {
		t.Error("the end of the first took the second out of the table")
	}
	if !fs.seal(k, second) {
		t.Error("joined, and sealed as if nobody else knew the key")
	}
}

// The wait for the first ends with the time of the one who joined.
func TestJoinerWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		x := open(t, always(lua.Admitted), nil)
		x.orders.place = held(answer)
		first := x.start(t, buys("u"))
		synctest.Wait()
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := x.Buy(gone, buys("u")); !errors.Is(err, ErrInProgress) {
			t.Errorf("told %v, want ErrInProgress", err)
		}
		answer <- nil
		if got := <-first; got != "order 9" {
			t.Errorf("the first was told %q", got)
		}
	})
}

// A panic below a purchase goes up to who can answer it; those who joined hear
// at once that nobody knows, and the key is free.
func TestPanicHoldsTheKeyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		x := open(t, s.filter(), nil)
		x.orders.place = func(context.Context, api.Ticket) (api.Order, error) { panic("a bug") }
		panicked := make(chan any, 1)
		go func() {
			defer func() { panicked <- recover() }()
			_, _ = x.Buy(t.Context(), buys("u"))
		}()
		synctest.Wait()
		joined := x.start(t, buys("u"))
		synctest.Wait()
		s.answer(0, func(lua.Request) lua.Verdict { return lua.Admitted })
		if p := <-panicked; p != "a bug" {
			t.Errorf("recovered %v", p)
		}
		if got := <-joined; got != "unknown" {
			t.Errorf("who joined was told %q", got)
		}
		x.orders.place = nil
		anew := x.start(t, buys("u"))
		synctest.Wait()
		s.answer(1, func(lua.Request) lua.Verdict { return lua.Again })
		if got := <-anew; got != "order 9" {
			t.Errorf("with the same key afterwards: %q", got)
		}
	})
}
