package reseed_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/backend/store/storetest"
)

// Each kind of damage is put in past the store and must be found under its name.
func TestDamageIsNamed(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	names := strings.NewReplacer("{a}", w.buy("1", "a").OrderID, "{cancelled}", w.cancelled("1", "gone"))
	w.buy("1", "b")
	w.buy("1", "c")
	w.agrees("1")
	for name, c := range map[string]struct {
		damage string
		rule   string
		class  string
		detail string // a part of it: who or what
	}{
		"a unit from nowhere":              {"UPDATE sales SET num = num + 1", "I2", "oversell", "the sale says 8"},
		"a unit lost":                      {"UPDATE sales SET num = num - 1", "I2", "undersell", "the sale says 6"},
		"below zero":                       {"PRAGMA ignore_check_constraints = 1; UPDATE sales SET num = -1", "I1", "oversell", "-1"},
		"a journal entry too many":         {"INSERT INTO stock_journal (item, delta, kind, at) VALUES ('1', -1, 'sold', 0)", "I2", "journal_drift", "sums to 6"},
		"an order without its entry":       {"DELETE FROM stock_journal WHERE order_id = {a}", "I2", "orphan_order", "{a}"},
		"an order that nobody placed":      {"INSERT INTO orders (id, item, user_id, biz_id, qty, amount_cents, state, path, epoch, created_at, changed_at) VALUES (77, '1', 'x', 'x', 1, 100, 'paid', 'db', 1, 1, 1)", "I2", "orphan_order", "77"},
		"an entry without its order":       {"DELETE FROM orders WHERE id = {a}", "I2", "orphan_order", "{a}"},
		"a quota too high":                 {"UPDATE user_quota SET bought = bought + 1 WHERE user_id = 'a'", "I3", "quota_drift", "user a"},
		"a quota row lost":                 {"DELETE FROM user_quota WHERE user_id = 'a'", "I3", "quota_drift", "user a"},
		"a quota of somebody without any":  {"INSERT INTO user_quota (item, user_id, bought) VALUES ('1', 'x', 1)", "I3", "quota_drift", "user x"},
		"more than the limit":              {"UPDATE orders SET qty = 5 WHERE id = {a}", "I3", "over_limit", "user a"},
		"units back while it is held":      {"INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES ('1', 1, 'returned', {a}, 0); UPDATE sales SET num = num + 1", "I7", "double_return", "{a}"},
		"units back twice":                 {"DROP INDEX stock_journal_once; INSERT INTO stock_journal (item, delta, kind, order_id, at) VALUES ('1', 1, 'returned', {cancelled}, 0); UPDATE sales SET num = num + 1", "I7", "double_return", "{cancelled}"},
		"more units back than it held":     {"UPDATE stock_journal SET delta = 2 WHERE kind = 'returned'; UPDATE sales SET num = num + 1", "I7", "double_return", "{cancelled}"},
		"a cancelled order that is active": {"UPDATE orders SET state = 'paid' WHERE id = {cancelled}", "I7", "double_return", "{cancelled}"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "damaged.db")
			w.damage("VACUUM INTO '" + file + "'") // a copy
			storetest.Exec(t, file, names.Replace(c.damage))
			r, err := reseed.Audit(t.Context(), storetest.OpenFile(t, file, w.clock.Now), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Findings, func(f reseed.Finding) bool {
				return f.Item == "1" && f.Rule == c.rule && f.Class == c.class && strings.Contains(f.Detail, names.Replace(c.detail))
			}) {
				t.Errorf("no %s %s with %q in %+v", c.rule, c.class, c.detail, r.Findings)
			}
		})
	}
}

// cancelled buys and cancels, and returns the order's number.
func (w *world) cancelled(item, user string) string {
	w.t.Helper()
	o := w.buy(item, user)
	if _, _, err := w.store.Cancel(w.t.Context(), user, number(w.t, o)); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.filter.Restore(w.t.Context(), item, user, o.BizID, 1); err != nil {
		w.t.Fatal(err)
	}
	return o.OrderID
}

func TestFilterDriftIsNamed(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10)
	w.create("far", 10, 100*lead)
	w.buy("1", "u")
	drift := func() (details []string) {
		t.Helper()
		r, err := reseed.Audit(t.Context(), w.store, w.filter, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			if f.Item != "1" || f.Rule != "I6" || f.Class != "filter_drift" {
				t.Errorf("found %+v", f)
			}
			details = append(details, f.Detail)
		}
		return details
	}
	if got := drift(); got != nil {
		t.Errorf("of a clean system: %v; a sale before its preheat is none of it", got)
	}
	w.admit("1", "ghost")
	if got := drift(); len(got) != 1 || !strings.Contains(got[0], "8 units left, SQL 9") {
		t.Errorf("of a unit stranded in the filter: %v", got)
	}
	w.place("1", "real", api.PathQueue)
	if got := drift(); len(got) != 1 || !strings.Contains(got[0], "buyers") {
		t.Errorf("of other buyers: %v", got)
	}
	epoch, ok, err := w.store.RaiseEpoch(t.Context(), "1", w.sale("1").Epoch, 0, lease.Milliseconds())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got := drift(); got != nil {
		t.Errorf("while a seeder has its lease: %v", got)
	}
	if err := w.store.EndLease(t.Context(), "1", epoch); err != nil {
		t.Fatal(err)
	}
	if got := drift(); len(got) != 1 || !strings.Contains(got[0], "epoch") {
		t.Errorf("of an old epoch: %v", got)
	}
	w.filter.Wipe()
	if got := drift(); len(got) != 1 || !strings.Contains(got[0], "knows nothing") {
		t.Errorf("of an empty filter: %v", got)
	}
	w.clock.Add(2 * time.Hour)
	if got := drift(); got != nil {
		t.Errorf("after the end: %v", got)
	}
}

func TestAuditOfAnUnknownItem(t *testing.T) {
	w := newWorld(t)
	if _, err := reseed.Audit(t.Context(), w.store, nil, "nothing"); !errors.Is(err, api.ErrNotFound) || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("got %v, want one that names the item", err)
	}
}

// The books are read in one snapshot: a system at work raises no false alarm.
func TestAuditOfALiveSystemCriesWolf(t *testing.T) {
	w := newWorld(t)
	w.open("1", 100_000)
	var traffic sync.WaitGroup
	for worker := range 4 {
		traffic.Go(func() {
			for i := range 8 {
				if err := w.live(fmt.Sprint(worker, "-", i), i%2 == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { traffic.Wait(); close(over) }()
	for audits := 0; ; audits++ {
		r, err := reseed.Audit(t.Context(), w.store, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != 0 {
			t.Fatalf("false alarm: %+v", r.Findings)
		}
		select {
		case <-over:
			if audits < 3 {
				t.Errorf("%d audits while orders were made and cancelled: too few to say anything", audits)
			}
			w.sweeps(2)
			w.agrees("1")
			return
		default:
		}
	}
}

// live makes an order, and cancels it or pays.
func (w *world) live(user string, cancel bool) error {
	o, err := w.placer.Place(context.Background(), purchase("1", user, api.PathDB, 0))
	if err != nil {
		return err
	}
	end := w.store.Pay
	if cancel {
		end = w.store.Cancel
	}
	_, _, err = end(context.Background(), o.User, number(w.t, o))
	return err
}
