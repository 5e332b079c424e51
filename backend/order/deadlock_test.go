package order_test

import (
	"fmt"
	"testing"

	"rushgate/backend/store/storetest"
)

// deadlockRounds bounds how often a deadlock is made until its victim was the
// purchase. MariaDB takes the transaction that changed fewer rows, PostgreSQL the
// one that looks first, after it has waited for a second.
const deadlockRounds = 5

// A rival holds the sale's row and wants a row of the purchase, which waits for the
// sale's. The victim is placed anew as a whole, with its own key.
func TestPurchaseIsADeadlocksVictim(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		for round := range deadlockRounds {
			before := w.faults.updates.Load()
			rivalLost := w.deadlock(t, fmt.Sprint("u", round), 9-int64(round))
			switch victim := w.faults.updates.Load()-before > 1; {
			case victim:
				return
			case !rivalLost:
				t.Fatal("there was no deadlock")
			}
		}
		t.Fatalf("the rival was the victim of all %d deadlocks", deadlockRounds)
	})
}

// deadlock makes one between a rival and the user's purchase, which must become an
// order that leaves so many units. It says whether the rival failed.
func (w *wired) deadlock(t *testing.T, user string, left int64) (rivalLost bool) {
	t.Helper()
	p := buy("1", user, "k", 1)
	rival := w.hold(t)
	waits := w.wire.Passed("UPDATE sales SET num") // the last of its statements: it has its other rows
	told := w.placing(t, p)
	wait(t, waits, "the purchase's turn to wait")
	_, err := rival.ExecContext(t.Context(), "INSERT INTO user_quota (item, user_id, bought) VALUES ('1', '"+user+"', 1)")
	_ = rival.Rollback() // the server has done it where the rival lost
	a := <-told
	if a.err != nil {
		t.Fatalf("told %v, want the order", a.err)
	}
	w.is(t, p, a.order, left)
	return err != nil
}
