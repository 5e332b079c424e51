package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"

	"rushgate/backend/api"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// A lease that is renewed without a change to its row, since the clock stands
// still, is not lost.
func TestLeaseRenewedTwiceInAMillisecond(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		n := lease(t, db.Open(t, storetest.NewClock().Now), "a")
		for range 3 {
			if err := n.Keep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if id, err := n.Next(); err != nil || snowflake.ParseInt64(id).Node() != 0 {
			t.Errorf("number %d, %v; want one of worker 0", id, err)
		}
	})
}

// Processes that start together take ids of their own, the first time and when
// the leases have run out.
func TestTwoProcessesLeaseOneID(t *testing.T) {
	t.Parallel()
	const processes = 8
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		clock := storetest.NewClock()
		stores := []*store.Store{db.Open(t, clock.Now), db.Open(t, clock.Now)}
		for round := range 2 {
			leased := make([]*store.Numbers, processes)
			var wg sync.WaitGroup
			for i := range leased {
				wg.Go(func() {
					var err error
					if leased[i], err = store.NewNumbers(t.Context(), stores[i%2], fmt.Sprint(round, "-", i), quiet); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			nodes := map[int64]bool{}
			for _, n := range leased {
				id, err := n.Next()
				if err != nil {
					t.Fatal(err)
				}
				nodes[snowflake.ParseInt64(id).Node()] = true
			}
			if len(nodes) != processes {
				t.Errorf("%d processes share %d ids", processes, len(nodes))
			}
			clock.Add(time.Hour)
		}
	})
}

func TestLeaseLost(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		clock := storetest.NewClock()
		s := db.Open(t, clock.Now)
		n := lease(t, s, "a")
		made := map[int64]bool{}
		take(t, n, made, 1)
		clock.Add(31 * time.Second) // nobody renewed it
		if _, err := n.Next(); !errors.Is(err, api.ErrFailed) {
			t.Fatalf("without a lease: %v, want definitely not done", err)
		}
		take(t, lease(t, s, "successor"), made, 10) // of the same id
		if err := n.Keep(t.Context()); err != nil {
			t.Fatalf("taking another id: %v", err)
		}
		take(t, n, made, 10)
		if id, err := n.Next(); err != nil || snowflake.ParseInt64(id).Node() != 1 {
			t.Errorf("number %d, %v; want one of worker 1", id, err)
		}
	})
}
