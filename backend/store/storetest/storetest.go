// Package storetest opens private databases for tests.
package storetest

import (
	"path/filepath"
	"testing"
	"time"

	"rushgate/backend/order"
	"rushgate/backend/store"
)

// Open returns a new, empty, embedded database that is gone after the test. now
// is its clock; nil for the real one.
func Open(t testing.TB, now func() time.Time) *store.Store {
	t.Helper()
	return OpenFile(t, filepath.Join(t.TempDir(), "rushgate.db"), now)
}

// OpenFile opens a database file, as a second process would.
func OpenFile(t testing.TB, file string, now func() time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Driver: "sqlite", DSN: file, Now: now})
	if err != nil {
		t.Fatalf("opening %s: %v", file, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Sale is an open sale: one a user, a minute old, ending in an hour.
func Sale(item string, units int64) order.Sale {
	now := time.Now().UnixMilli()
	return order.Sale{
		Item: item, Title: "Item " + item, PriceCents: 100, Num: units, PerUser: 1, Mode: "sync",
		StartsAt: now - 60_000, EndsAt: now + 3_600_000,
	}
}

// Create puts sales on offer.
func Create(t testing.TB, s *store.Store, sales ...order.Sale) {
	t.Helper()
	for _, v := range sales {
		if err := s.Create(t.Context(), v); err != nil {
			t.Fatalf("creating sale %s: %v", v.Item, err)
		}
	}
}
