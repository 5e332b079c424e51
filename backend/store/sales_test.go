package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

func saleOf(item string, units int64) order.Sale {
	v := storetest.Sale(item, units)
	v.PerUser = 3
	return v
}

func clean(t *testing.T, s *store.Store) {
	t.Helper()
	r, err := reseed.Audit(t.Context(), s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("audit: %s %s: %s", f.Rule, f.Class, f.Detail)
	}
}

// write puts one order of an item down, past the planning.
func write(ctx context.Context, tx order.Tx, item, user string, id, qty int64) (as order.Sale, err error) {
	v, _, _, err := tx.Read(ctx, item, []order.Key{{User: user, BizID: "k"}})
	if err != nil {
		return v, err
	}
	o := api.Order{
		OrderID: order.FormatNumber(id), Item: item, User: user, BizID: "k", Qty: int(qty), AmountCents: qty * v.PriceCents,
		State: api.StateCreated, CreatedAt: v.Now, PayBy: v.Now + 60_000,
	}
	return v, tx.Write(ctx, order.Write{Sale: v, Units: qty, Rows: []order.Row{{ID: id, Order: o, Path: api.PathQueue, Epoch: v.Epoch}}})
}

func place(t *testing.T, s *store.Store, item, user string, id, qty int64) {
	t.Helper()
	err := s.Update(t.Context(), func(tx order.Tx) error {
		_, err := write(t.Context(), tx, item, user, id, qty)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDemoSalesMadeAnew(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		genuine := saleOf("2", 5)
		genuine.Title = "for money"
		storetest.Create(t, s, genuine)
		place(t, s, "2", "customer", 9, 1)
		for start := range 3 { // each with what the last one left behind
			made, err := s.Demo(t.Context(), []order.Sale{saleOf("1", 10), saleOf("2", 10), saleOf("3", 10)})
			if err != nil || !slices.Equal(made, []string{"1", "3"}) {
				t.Fatalf("start %d made %v, %v; the real sale is to be left alone", start, made, err)
			}
			for _, item := range made {
				if v, err := s.Sale(t.Context(), item); err != nil || v.Num != 10 || !v.Demo {
					t.Errorf("start %d: %+v, %v; want a new demo sale of ten", start, v, err)
				}
			}
			v, err := s.Sale(t.Context(), "2")
			if err != nil || v.Num != 4 || v.Title != "for money" || v.Demo {
				t.Errorf("start %d: the real sale is %+v, %v", start, v, err)
			}
			if o, err := s.Find(t.Context(), "customer", "k"); err != nil || o.OrderID != "9" {
				t.Errorf("start %d: the real order is %+v, %v", start, o, err)
			}
			if _, err := s.Find(t.Context(), "visitor", "k"); !errors.Is(err, api.ErrNotFound) {
				t.Errorf("start %d: an order of the last start is left: %v", start, err)
			}
			clean(t, s)
			place(t, s, "1", "visitor", int64(100+start), 2)
			if _, _, err := s.Cancel(t.Context(), "visitor", int64(100+start)); err != nil {
				t.Fatal(err)
			}
			place(t, s, "3", "other visitor", int64(200+start), 3)
		}
	})
}

// Why a sale could not be made is not guessed.
func TestSaleThatCannotBeMade(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 5))
		place(t, s, "1", "customer", 9, 1)
		again := saleOf("1", 1000)
		if err := s.Create(t.Context(), again); !errors.Is(err, store.ErrExists) || !strings.Contains(err.Error(), "sale 1") {
			t.Errorf("an item that is on sale: %v", err)
		}
		for name, spoil := range map[string]func(*order.Sale){
			"ends before it starts": func(v *order.Sale) { v.EndsAt = v.StartsAt },
			"no units a user":       func(v *order.Sale) { v.PerUser = 0 },
			"negative units":        func(v *order.Sale) { v.Num = -1 },
			"negative price":        func(v *order.Sale) { v.PriceCents = -1 },
		} {
			v := saleOf("2", 5)
			spoil(&v)
			if err := s.Create(t.Context(), v); err == nil || errors.Is(err, store.ErrExists) {
				t.Errorf("%s: %v, want an error of its own", name, err)
			}
		}
		if all, err := s.Sales(t.Context(), 0); err != nil || len(all) != 1 || all[0].Num != 4 {
			t.Errorf("what is on sale now: %+v, %v", all, err)
		}
		clean(t, s)
	})
}

func TestItemWithoutASale(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		_, sale := s.Sale(t.Context(), "x")
		_, books := s.Books(t.Context(), "x")
		_, snapshot := s.Snapshot(t.Context(), "x")
		_, preheat := s.Preheat(t.Context(), "x")
		for name, err := range map[string]error{
			"sale": sale, "books": books, "snapshot": snapshot, "preheat": preheat, "pause": s.SetPaused(t.Context(), "x", true),
		} {
			if !errors.Is(err, api.ErrNotFound) || !strings.Contains(err.Error(), "x has no sale") {
				t.Errorf("%s: %v, want one that names the item", name, err)
			}
		}
		if epoch, ok, err := s.RaiseEpoch(t.Context(), "x", 1, 0, 1); epoch != 0 || ok || err != nil {
			t.Errorf("raising nothing: %d, %v, %v", epoch, ok, err)
		}
	})
}

// A panic in a transaction ends it: the one writing connection is not lost.
func TestWriterLostToAPanic(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = s.Update(t.Context(), func(order.Tx) error { panic("a fault of the program") })
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := s.Create(ctx, saleOf("1", 5)); err != nil {
			t.Errorf("writing after the panic: %v", err)
		}
	})
}
