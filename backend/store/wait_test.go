package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// Whoever waits for another writer waits no longer than it says.
func TestWaitForAWriterHasNoEnd(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 5))
		err := s.Update(t.Context(), func(tx order.Tx) error {
			if _, err := write(t.Context(), tx, "1", "u", 7, 2); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := s.SetPaused(ctx, "1", true); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("waiting for the writer ended with %v", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if v := saleAt(t, s, "1"); v.Paused || v.Num != 3 {
			t.Errorf("who gave up changed the sale: %+v", v)
		}
	})
}

// What another process commits is seen, and what it has not committed is not.
func TestReadsBesideAWriter(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) { readBeside(t, db.Open(t, nil), db.Open(t, nil)) })
	t.Run("sqlite, with a file name full of signs", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "a folder with % and ?", "rush gate#1.db")
		if err := os.Mkdir(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		readBeside(t, storetest.OpenFile(t, file, nil), storetest.OpenFile(t, file, nil))
	})
}

func readBeside(t *testing.T, s, other *store.Store) {
	t.Helper()
	storetest.Create(t, s, saleOf("1", 5))
	err := s.Update(t.Context(), func(tx order.Tx) error {
		v, err := write(t.Context(), tx, "1", "u", 7, 2)
		if err != nil {
			return err
		}
		before, err := other.Sale(t.Context(), "1")
		before.Now = v.Now
		if diff := cmp.Diff(v, before); diff != "" || err != nil {
			t.Errorf("before the commit another process sees %s %v", diff, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := saleAt(t, other, "1"); v.Num != 3 {
		t.Errorf("after the commit: %+v", v)
	}
}
