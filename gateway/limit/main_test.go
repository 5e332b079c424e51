package limit

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// noon is when the tests begin. It has no monotonic reading, like every time that
// is made up.
var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// after returns the time so many seconds after noon.
func after(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// granted asks n times at one moment and returns how many were granted.
func granted(n int, allow func() Decision) int {
	count := 0
	for range n {
		if allow().OK {
			count++
		}
	}
	return count
}
