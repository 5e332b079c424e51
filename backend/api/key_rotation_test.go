package api

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"
)

func keysOf(t *testing.T, ids ...string) *Keys {
	t.Helper()
	keys := make([]Key, len(ids))
	for i, id := range ids {
		keys[i] = Key{ID: id, Secret: bytes.Repeat([]byte(id), minSecret)}
	}
	k, err := NewKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A ticket under way while the keys are replaced is good for as long as its key
// is listed, and no longer.
func TestRotationLosesTicketsUnderWay(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	ticket := Ticket{Item: "1", User: "u", BizID: "b", Qty: 1, Epoch: 1, Path: PathRedis, Exp: now.UnixMilli() + 1000}
	k := keysOf(t, "old")
	signed := k.Sign(ticket)
	steps := []struct {
		keys  *Keys
		signs string
		old   bool // a ticket of the old key is good
	}{
		{keysOf(t, "old", "new"), "old", true},
		{keysOf(t, "new", "old"), "new", true},
		{keysOf(t, "new"), "new", false},
	}
	for i, step := range steps {
		k.Replace(step.keys)
		if got := k.String(); got != "keys signing with "+step.signs {
			t.Errorf("step %d: %s", i+1, got)
		}
		if _, err := k.Verify(k.Sign(ticket), now); err != nil {
			t.Errorf("step %d: its own ticket: %v", i+1, err)
		}
		switch got, err := k.Verify(signed, now); {
		case step.old && (err != nil || got != ticket):
			t.Errorf("step %d: the ticket under way: %v, %v", i+1, got, err)
		case !step.old && !errors.Is(err, ErrTicketInvalid):
			t.Errorf("step %d: a key that is not listed any more verifies: %v", i+1, err)
		}
	}
}

// A signature is made by one key throughout, whenever the keys are replaced.
func TestRotationMixesTwoKeys(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	ticket := Ticket{Item: "1", User: "u", BizID: "b", Qty: 1, Epoch: 1, Path: PathRedis, Exp: now.UnixMilli() + 1000}
	a, b := keysOf(t, "a", "b"), keysOf(t, "b", "a")
	k := keysOf(t, "a", "b")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 2000 {
				if _, err := a.Verify(k.Sign(ticket), now); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 2000 {
		k.Replace([]*Keys{a, b}[i%2])
	}
	wg.Wait()
}
