package lock

import (
	"context"
	"testing"
)

type callers string

// What every Locker does.
func TestLocker(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Locker{"None": None{}, "Redis": overRedis(t, start(t))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), callers("trace"), "t1"))
			held, unlock, err := l.Lock(ctx, "1001")
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if held.Err() != nil {
				t.Errorf("the lock ended with the wait for it: %v", context.Cause(held))
			}
			if _, bounded := held.Deadline(); bounded {
				t.Error("the lock has the deadline of the wait for it")
			}
			if got := held.Value(callers("trace")); got != "t1" {
				t.Errorf("the caller's value is %v", got)
			}
			mustUnlock(t, unlock)
			_, _, unlock = mustLock(t, l, "1001")
			mustUnlock(t, unlock)
		})
	}
}
