package config

import "testing"

// A burst as large as the rate lets twice the rate through in the first second. The
// scopes that all buyers share have a tenth of that.
func TestDefaultBurstAdmitsTwiceTheRate(t *testing.T) {
	l := Default().Limits
	for scope, r := range map[string]ScopedRate{"item": l.Item, "global": l.Global} {
		if float64(r.Burst) > r.QPS/10 {
			t.Errorf("limits.%s: a burst of %d at %v a second, want a tenth at most", scope, r.Burst, r.QPS)
		}
	}
}
