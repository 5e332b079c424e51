package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/snowflake"
	"pgregory.net/rapid"

	"rushgate/backend/api"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

var quiet = slog.New(slog.DiscardHandler)

func lease(t *testing.T, s *store.Store, owner string) *store.Numbers {
	t.Helper()
	n, err := store.NewNumbers(t.Context(), s, owner, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// take makes so many numbers, and fails the test where one was made before.
func take(t *testing.T, n *store.Numbers, made map[int64]bool, count int) {
	t.Helper()
	for range count {
		id, err := n.Next()
		switch {
		case err != nil:
			t.Fatal(err)
		case made[id]:
			t.Fatalf("number %d was made twice", id)
		case id <= 0:
			t.Fatalf("number %d is not positive", id)
		}
		made[id] = true
	}
}

// The numbers are snowflakes as others read them.
func TestNumberNobodyElseCanRead(t *testing.T) {
	clock := storetest.NewClock()
	n := lease(t, storetest.Open(t, clock.Now), "a")
	for step := range int64(3) {
		id, err := n.Next()
		if err != nil {
			t.Fatal(err)
		}
		f := snowflake.ParseInt64(id)
		if f.Time() != clock.Now().UnixMilli() || f.Node() != 0 || f.Step() != step {
			t.Errorf("number %d reads as time %d, node %d, step %d", id, f.Time(), f.Node(), f.Step())
		}
	}
}

func TestTwoProcessesMakeOneNumber(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		clock := storetest.NewClock()
		s := db.Open(t, clock.Now)
		a, b := lease(t, s, "a"), lease(t, s, "b")
		made := map[int64]bool{}
		for range 10 { // beyond what one millisecond holds, and the clock stands still
			take(t, a, made, 1000)
			take(t, b, made, 1000)
		}
		take(t, lease(t, s, "c"), made, 1)
	})
}

func TestNumbersFromManyGoroutines(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		n := lease(t, s, "a")
		var mu sync.Mutex
		made := map[int64]bool{}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ids := make([]int64, 0, 1000)
				for range cap(ids) {
					id, err := n.Next()
					if err != nil {
						t.Error(err)
					}
					ids = append(ids, id)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, id := range ids {
					if made[id] {
						t.Errorf("number %d was made twice", id)
					}
					made[id] = true
				}
			})
		}
		wg.Go(func() { // another process comes, and this one's lease is renewed
			lease(t, s, "b")
			if err := n.Keep(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	})
}

func TestClockSetBackFiveMinutes(t *testing.T) {
	for name, closes := range map[string]bool{"after a clean end": true, "after a crash": false} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, db *storetest.Database) { clockSetBack(t, db, closes) })
		})
	}
}

func clockSetBack(t *testing.T, db *storetest.Database, closes bool) {
	t.Helper()
	clock := storetest.NewClock()
	made := map[int64]bool{}
	n := lease(t, db.Open(t, clock.Now), "before")
	take(t, n, made, 5000)
	clock.Add(-5 * time.Minute) // while it runs
	take(t, n, made, 5000)
	if err := n.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	take(t, n, made, 5000)
	if closes {
		if err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Next(); !errors.Is(err, api.ErrFailed) {
			t.Errorf("a number after the end: %v", err)
		}
	}
	s := db.Open(t, clock.Now)
	again := lease(t, s, "after")
	for range 8 { // through the five minutes a second time, to the millisecond
		take(t, again, made, 5000)
		clock.Add(5 * time.Minute / 8)
		again = lease(t, s, "after another crash")
		take(t, again, made, 5000)
	}
}

// Processes come, make numbers, keep or lose their lease, end or crash, while
// the clock they share steps in both directions.
func TestNumbersUnderAnyClock(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.Open(t, clock.Now)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		made := map[int64]int{} // by which process
		var all []*store.Numbers
		pick := func(rt *rapid.T) int {
			if len(all) == 0 {
				rt.Skip("nobody is there")
			}
			return rapid.IntRange(0, len(all)-1).Draw(rt, "process")
		}
		ctx := context.Background()
		rt.Repeat(map[string]func(*rapid.T){
			"start": func(rt *rapid.T) {
				n, err := store.NewNumbers(ctx, s, fmt.Sprint(run, "-", len(all)), quiet)
				if err != nil {
					rt.Fatal(err)
				}
				all = append(all, n)
			},
			"next": func(rt *rapid.T) {
				i := pick(rt)
				for range rapid.IntRange(1, 3).Draw(rt, "count") {
					id, err := all[i].Next()
					if errors.Is(err, api.ErrFailed) {
						return
					}
					if err != nil {
						rt.Fatal(err)
					}
					if by, twice := made[id]; twice {
						rt.Fatalf("number %d, made by process %d, is made again by process %d", id, by, i)
					}
					made[id] = i
				}
			},
			"step": func(rt *rapid.T) {
				clock.Add(time.Duration(rapid.IntRange(-300_000, 300_000).Draw(rt, "ms")) * time.Millisecond)
			},
			"tick": func(rt *rapid.T) {
				clock.Add(time.Duration(rapid.IntRange(0, 3).Draw(rt, "ms")) * time.Millisecond)
			},
			"keep": func(rt *rapid.T) { _ = all[pick(rt)].Keep(ctx) },
			"end":  func(rt *rapid.T) { _ = all[pick(rt)].Close(ctx) },
			"":     func(*rapid.T) {},
		})
	})
}

// Numbers are made for longer than one lease without a gap, because somebody
// renews it.
func TestLeaseRunsOutUnderARunningProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead := func() time.Time { return time.Now().AddDate(30, 0, 0) } // a bubble's clock starts in 2000
		s := storetest.Open(t, ahead)
		n := lease(t, s, "a")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { n.Run(ctx) })
		made := map[int64]bool{}
		for range 100 {
			take(t, n, made, 10)
			time.Sleep(time.Second) // of the bubble
		}
		cancel()
		wg.Wait()
	})
}

func TestAllWorkerIDsTaken(t *testing.T) {
	clock := storetest.NewClock()
	file := filepath.Join(t.TempDir(), "rushgate.db")
	s := storetest.OpenFile(t, file, clock.Now)
	storetest.Exec(t, file, fmt.Sprintf(`WITH RECURSIVE ids(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM ids WHERE id < 1023)
		INSERT INTO worker_ids SELECT id, 'process ' || id, %d FROM ids`, clock.Now().Add(time.Second).UnixMilli()))
	_, err := store.NewNumbers(t.Context(), s, "one too many", quiet)
	if err == nil || !strings.Contains(err.Error(), "1024") || !strings.Contains(err.Error(), "stop a backend or wait") {
		t.Fatalf("got %v, want an error that says what to do", err)
	}
	clock.Add(time.Second + time.Millisecond)
	take(t, lease(t, s, "a second later"), map[int64]bool{}, 1)
}

func TestClockBeforeAllNumbers(t *testing.T) {
	s := storetest.Open(t, func() time.Time { return time.Unix(0, 0) })
	if _, err := store.NewNumbers(t.Context(), s, "a", quiet); err == nil || !strings.Contains(err.Error(), "1970-01-01") {
		t.Errorf("got %v, want an error that tells of the clock", err)
	}
}

// Roughly by time: later numbers are larger within a process.
func TestNumbersOutOfOrder(t *testing.T) {
	clock := storetest.NewClock()
	n := lease(t, storetest.Open(t, clock.Now), "a")
	var ids []int64
	for i := range 3000 {
		if i%700 == 0 {
			clock.Add(time.Duration(i%3-1) * time.Second)
		}
		id, err := n.Next()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Error("a later number is smaller than an earlier one")
	}
}
