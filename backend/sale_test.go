package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/order"
)

func proper() newSale {
	return newSale{item: "2001", title: "Kettle", price: 1990, units: 100, perUser: 2, starts: "now", ends: "1h30m", mode: "sync"}
}

func TestSaleThatMeansWhatItSays(t *testing.T) {
	now := time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC)
	at := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	sale := func(starts, ends int64) order.Sale {
		return order.Sale{Item: "2001", Title: "Kettle", PriceCents: 1990, Num: 100, PerUser: 2, Mode: "sync", StartsAt: starts, EndsAt: ends}
	}
	for name, c := range map[string]struct {
		starts, ends string
		want         order.Sale
	}{
		"from now on":            {"now", "1h30m", sale(at(0), at(90*time.Minute))},
		"from a time, so long":   {"2027-01-02T10:00:00+08:00", "1h", sale(at(16*time.Hour), at(17*time.Hour))},
		"from a time to a time":  {"2027-01-01T11:00:00Z", "2027-01-01T12:00:00Z", sale(at(time.Hour), at(2*time.Hour))},
		"begun already":          {"2027-01-01T09:00:00Z", "2h", sale(at(-time.Hour), at(time.Hour))},
		"from now on to a time":  {"now", "2027-01-01T10:00:01+00:00", sale(at(0), at(time.Second))},
		"for a millisecond":      {"now", "1ms", sale(at(0), at(time.Millisecond))},
		"on the other hemispere": {"2027-01-01T10:00:00-03:00", "2h", sale(at(3*time.Hour), at(5*time.Hour))},
	} {
		n := proper()
		n.starts, n.ends = c.starts, c.ends
		got, err := n.parse(now.UnixMilli())
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// Every error names the flag and says what to write.
func TestSaleThatCannotBeMeant(t *testing.T) {
	now := time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC).UnixMilli()
	for want, spoil := range map[string]func(*newSale){
		`--item "a b": use 1 to 64 letters`:          func(n *newSale) { n.item = "a b" },
		`--item "": use`:                             func(n *newSale) { n.item = "" },
		`--item "é": use`:                            func(n *newSale) { n.item = "é" },
		`--title: write`:                             func(n *newSale) { n.title = "" },
		`--title: write 1 to 200`:                    func(n *newSale) { n.title = strings.Repeat("x", 201) },
		`--price -1: cents, from 0`:                  func(n *newSale) { n.price = -1 },
		`--price 9223372037: cents`:                  func(n *newSale) { n.price = 9_223_372_037 },
		`--units -1: from 0 to 1000000000`:           func(n *newSale) { n.units = -1 },
		`--units 1000000001: from 0`:                 func(n *newSale) { n.units = 1_000_000_001 },
		`--per-user 0: from 1`:                       func(n *newSale) { n.perUser = 0 },
		`--per-user 1000000001: from 1`:              func(n *newSale) { n.perUser = 1_000_000_001 },
		`--mode async`:                               func(n *newSale) { n.mode = "async" },
		`--mode "often": use sync`:                   func(n *newSale) { n.mode = "often" },
		`--starts "soon": write now`:                 func(n *newSale) { n.starts = "soon" },
		`--starts "2027-01-01": write now`:           func(n *newSale) { n.starts = "2027-01-01" },
		`--ends "tomorrow": write a duration`:        func(n *newSale) { n.ends = "tomorrow" },
		`--ends "": write a duration`:                func(n *newSale) { n.ends = "" },
		`--ends 0s: must be after the start`:         func(n *newSale) { n.ends = "0s" },
		`--ends -1h: must be after`:                  func(n *newSale) { n.ends = "-1h" },
		`--ends 1us: must be after`:                  func(n *newSale) { n.ends = "1us" },
		`--ends 1h: is over already`:                 func(n *newSale) { n.starts, n.ends = "2026-12-31T00:00:00Z", "1h" },
		`--ends 2027-01-01T10:00:00Z: is over alrea`: func(n *newSale) { n.starts, n.ends = "2026-12-31T00:00:00Z", "2027-01-01T10:00:00Z" },
	} {
		n := proper()
		spoil(&n)
		if v, err := n.parse(now); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v of %+v", want, err, v)
		}
	}
}
