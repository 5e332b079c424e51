package store_test

import (
	"errors"
	"sync"
	"testing"

	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// Processes that start at once on an empty database all find a whole schema.
func TestTwoMigrationsAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 4
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		stores := make([]*store.Store, processes)
		errs := make([]error, processes)
		var wg sync.WaitGroup
		for i := range processes {
			wg.Go(func() {
				stores[i], errs[i] = store.Open(t.Context(), store.Options{Driver: db.Driver, DSN: db.DSN})
			})
		}
		wg.Wait()
		for i, s := range stores {
			if errs[i] != nil {
				t.Errorf("process %d: %v", i, errs[i])
				continue
			}
			storetest.Create(t, s, saleOf(string(rune('a'+i)), 5))
			clean(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A migration that was cut off after its first table runs again. Only MySQL can
// leave it so: there a CREATE TABLE commits by itself.
func TestMigrationWasCutOff(t *testing.T) {
	db := storetest.MariaDB(t)
	connect := func() {
		t.Helper()
		s, err := store.Open(t.Context(), store.Options{Driver: db.Driver(), DSN: db.DSN()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		storetest.Create(t, s, saleOf("1", 5))
		clean(t, s)
	}
	connect()
	db.Exec(t, "DROP TABLE orders, user_quota, stock_journal, outbox, worker_ids; DELETE FROM sales; DELETE FROM goose_db_version WHERE version_id > 0")
	connect()
}

// Two shopkeepers put one item on sale: the second is told so, and changes nothing.
func TestItemPutOnSaleTwiceAtOnce(t *testing.T) {
	t.Parallel()
	const keepers = 6
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		stores := []*store.Store{db.Open(t, nil), db.Open(t, nil)}
		errs := make([]error, keepers)
		var wg sync.WaitGroup
		for i := range keepers {
			wg.Go(func() { errs[i] = stores[i%2].Create(t.Context(), saleOf("1", 5)) })
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
			} else if !errors.Is(err, store.ErrExists) {
				t.Errorf("told %v, want that it is on sale", err)
			}
		}
		if made != 1 {
			t.Errorf("%d sales of one item", made)
		}
		clean(t, stores[0])
	})
}
