package lock

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// event is one end of a critical section, in the order of a counter that all share.
type event struct {
	at    int64
	token string
}

// Many callers of several processes raise a number that is read and written apart, so
// two of them inside at a time lose one, and their intervals overlap.
func TestTwoHold(t *testing.T) {
	t.Parallel()
	const processes, callers, turns = 4, 4, 15
	s := start(t)
	c := dial(t, s.Addr())
	if err := c.Set(t.Context(), "n", 0, 0).Err(); err != nil {
		t.Fatal(err)
	}
	var (
		clock  atomic.Int64
		mu     sync.Mutex
		events []event
		wg     sync.WaitGroup
	)
	section := func(token string) error {
		enter := clock.Add(1)
		n, err := c.Get(t.Context(), "n").Int()
		if err != nil {
			return err
		}
		if err := c.Set(t.Context(), "n", n+1, 0).Err(); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		events = append(events, event{enter, token}, event{clock.Add(1), token})
		return nil
	}
	for range processes {
		r := overRedis(t, s)
		for range callers {
			wg.Go(func() {
				for range turns {
					held, unlock, err := r.Lock(t.Context(), "1001")
					if err != nil {
						t.Error(err)
						return
					}
					if err := section(holdOf(held).claim.token); err != nil {
						t.Error(err)
					}
					mustUnlock(t, unlock)
				}
			})
		}
	}
	wg.Wait()
	if n := c.Get(t.Context(), "n").Val(); n != strconv.Itoa(processes*callers*turns) {
		t.Errorf("the number is %s after %d sections", n, processes*callers*turns)
	}
	if err := overlap(events); err != nil {
		t.Error(err)
	}
}

// overlap tells of two sections that were open at a time, or of a token used twice.
func overlap(events []event) error {
	slices.SortFunc(events, func(a, b event) int { return int(a.at - b.at) })
	seen := make(map[string]bool)
	for i := 0; i+1 < len(events); i += 2 {
		enter, leave := events[i], events[i+1]
		if enter.token != leave.token {
			return fmt.Errorf("%s entered before %s had left", leave.token, enter.token)
		}
		if seen[enter.token] {
			return fmt.Errorf("%s was the token of two sections", enter.token)
		}
		seen[enter.token] = true
	}
	return nil
}

// A check that finds nothing would pass everywhere.
func TestOverlapIsMissed(t *testing.T) {
	apart := []event{{3, "b"}, {1, "a"}, {2, "a"}, {4, "b"}}
	if err := overlap(apart); err != nil {
		t.Errorf("sections apart: %v", err)
	}
	for name, events := range map[string][]event{
		"crossing":    {{1, "a"}, {3, "a"}, {2, "b"}, {4, "b"}},
		"one inside":  {{1, "a"}, {4, "a"}, {2, "b"}, {3, "b"}},
		"token again": {{1, "a"}, {2, "a"}, {3, "a"}, {4, "a"}},
	} {
		if overlap(events) == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
