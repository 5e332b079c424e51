package admit

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/lua"
)

// shelf is a filter with some units, and who has some.
type shelf struct {
	left   int64
	buyers map[string]struct{}
}

func (s *shelf) filter() *filter {
	return &filter{admit: func(_ context.Context, b lua.Batch) (lua.Reply, error) {
		r := lua.Reply{Left: s.left, Version: 7}
		for _, q := range b.Requests {
			v := lua.SoldOut
			if _, bought := s.buyers[q.User]; bought {
				v = lua.Again
			} else if int64(q.Qty) <= s.left {
				v = lua.Admitted
			}
			r.Verdicts = append(r.Verdicts, v)
		}
		if b.Version != r.Version {
			r.Buyers = s.buyers
		}
		return r, nil
	}}
}

// A mark spares the filter for a second. Buyers, smaller quantities and repeats
// go on; after the second one request finds out.
func TestMarkSparesTheFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{left: 1, buyers: set("ann")}
		x := open(t, s.filter(), nil)
		many := buys("u")
		many.Qty = 2
		for range 100 {
			if got := x.told(t, many); got != "refused sold_out" {
				t.Fatalf("told %q", got)
			}
		}
		if n := x.meter.of("verdict sold_out"); n != 1 {
			t.Fatalf("the filter was asked %d times, want once", n)
		}
		if x.MarkedSoldOut("1") {
			t.Error("listed as sold out with one unit left")
		}
		if !x.SoldOut([]byte("1"), []byte("u"), 2) || x.SoldOut([]byte("1"), []byte("ann"), 2) || x.SoldOut([]byte("2"), nil, 1) {
			t.Error("the cheap look differs")
		}
		if got := x.told(t, buys("ann")); got != "order 9" {
			t.Errorf("a buyer asks again: %q", got)
		}
		if got := x.told(t, again(many)); got != "refused sold_out" || x.meter.of("verdict sold_out") != 2 {
			t.Errorf("a repeat: %q, and it must pass the mark", got)
		}
		s.left = 0
		time.Sleep(2 * markLife)
		if got := x.told(t, buys("v")); got != "refused sold_out" || !x.MarkedSoldOut("1") {
			t.Errorf("after the last unit: %q, listed as sold out: %t", got, x.MarkedSoldOut("1"))
		}
		s.left, s.buyers = 5, set()
		time.Sleep(2 * markLife)
		if got := x.told(t, buys("v")); got != "order 9" {
			t.Errorf("after units came back: %q", got)
		}
	})
}

// With the filter gone a mark is a word that nobody renews. Once a probe has come
// back without an answer, it holds nobody up any more.
func TestUnconfirmedMarkRefusesForEver(t *testing.T) {
	for name, sql := range map[string]error{
		"SQL does nothing": api.ErrFailed, "SQL is in doubt": api.ErrUnknown, "SQL refuses this buyer": &api.Refusal{Code: api.Duplicate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := always(lua.SoldOut)
				x := open(t, f, nil)
				if got := x.told(t, buys("u")); got != "refused sold_out" {
					t.Fatal(got)
				}
				f.admit = gone().admit
				x.orders.place = fails(sql)
				time.Sleep(markLife)
				x.told(t, buys("probe"))
				x.orders.place = nil
				for i := range 3 {
					if got := x.told(t, buys(fmt.Sprint("u", i))); got != "order 9" {
						t.Errorf("told %q by a mark that nobody has confirmed", got)
					}
				}
			})
		})
	}
}

// The DB path is closed: a probe that finds no way leaves no false "sold out".
func TestProbeWithoutAWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := always(lua.SoldOut)
		x := open(t, f, func(o *Options) { o.DBPath = DBPathLimit{Concurrency: 1} })
		if got := x.told(t, buys("u")); got != "refused sold_out" {
			t.Fatal(got)
		}
		f.admit = gone().admit
		time.Sleep(markLife)
		for range 3 {
			if got := x.told(t, buys("u")); got != "overloaded" {
				t.Errorf("told %q, and nobody knows that", got)
			}
		}
	})
}

// An order on the DB path shows that the mark is wrong.
func TestMarkOutlivesAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := always(lua.SoldOut)
		x := open(t, f, nil)
		x.told(t, buys("u"))
		f.admit = gone().admit
		if got := x.told(t, again(buys("v"))); got != "order 9" {
			t.Fatal(got)
		}
		if got := x.told(t, buys("w")); got != "order 9" {
			t.Errorf("told %q", got)
		}
	})
}

// SQL's sold_out sets the mark too: with the buyers that the filter knows, and
// without where it can't be asked.
func TestSQLSoldOutSetsTheMark(t *testing.T) {
	none, one := int64(0), int64(1)
	ann := map[string]int64{"ann": 1}
	known := func() (lua.View, error) {
		return lua.View{Epoch: 5, Version: 7, Buyers: ann}, nil
	}
	type look struct{ Marked, Others, Buyer, More bool }
	for name, tt := range map[string]struct {
		filter *filter
		view   func() (lua.View, error)
		left   *int64
		want   look
	}{
		"filter knows the buyers":      {always(lua.Admitted), known, &none, look{true, true, false, true}},
		"one is left":                  {always(lua.Admitted), known, &one, look{false, false, false, true}},
		"filter gone":                  {gone(), func() (lua.View, error) { return lua.View{}, errGone }, &none, look{true, true, true, true}},
		"filter stale":                 {gone(), func() (lua.View, error) { return lua.View{Epoch: 5, Stale: true, Buyers: ann}, nil }, &none, look{true, true, true, true}},
		"filter at another epoch":      {gone(), func() (lua.View, error) { return lua.View{Epoch: 6, Buyers: ann}, nil }, &none, look{true, true, true, true}},
		"filter panics":                {gone(), func() (lua.View, error) { panic("a bug") }, &none, look{true, true, true, true}},
		"a refusal recorded long ago":  {always(lua.Admitted), known, nil, look{}},
		"no filter, nobody knows them": {nil, nil, &none, look{true, true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f lua.Filter
				if tt.filter != nil {
					tt.filter.view = tt.view
					f = tt.filter
				}
				x := open(t, f, nil)
				x.orders.place = fails(&api.Refusal{Code: api.SoldOut, Left: tt.left})
				if got := x.told(t, buys("u")); got != "refused sold_out" {
					t.Fatal(got)
				}
				item := []byte("1")
				got := look{x.MarkedSoldOut("1"), x.SoldOut(item, []byte("u"), 1), x.SoldOut(item, []byte("ann"), 1), x.SoldOut(item, []byte("u"), 2)}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// When an item sells out behind the filter many hear it at once. The set of
// buyers is large: one of them reads it, for all.
func TestEachSoldOutReadsTheBuyers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := always(lua.Admitted)
		answer := make(chan struct{})
		f.view = func() (lua.View, error) {
			<-answer
			return lua.View{Epoch: 5, Version: 1}, nil
		}
		x := open(t, f, nil)
		none := int64(0)
		x.orders.place = fails(&api.Refusal{Code: api.SoldOut, Left: &none})
		var told []<-chan string
		for i := range 100 {
			told = append(told, x.start(t, buys(fmt.Sprint("u", i))))
		}
		synctest.Wait()
		close(answer)
		for _, c := range told {
			if got := <-c; got != "refused sold_out" {
				t.Fatal(got)
			}
		}
		x.told(t, again(buys("u"))) // passes the mark, and hears what it says already
		if n := f.views.Load(); n != 1 {
			t.Errorf("the buyers were read %d times, want once", n)
		}
	})
}
