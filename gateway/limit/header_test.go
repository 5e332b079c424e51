package limit

import (
	"testing"
	"time"
)

func TestHeaders(t *testing.T) {
	five := Rate{QPS: 5, Burst: 5}
	tests := map[string]struct {
		d      Decision
		policy string
		state  string
		retry  int64
	}{
		"granted":          {Decision{OK: true, Rate: five, Remaining: 4, Reset: 200 * time.Millisecond}, `"user";q=5;w=1`, `"user";r=4;t=1`, 0},
		"granted, full":    {Decision{OK: true, Rate: five, Remaining: 5}, `"user";q=5;w=1`, `"user";r=5;t=0`, 0},
		"refused":          {Decision{Rate: five, Reset: 9 * time.Second, RetryAfter: 200 * time.Millisecond}, `"user";q=5;w=1`, `"user";r=0;t=1`, 1},
		"a nanosecond":     {Decision{Rate: five, RetryAfter: 1}, `"user";q=5;w=1`, `"user";r=0;t=1`, 1},
		"a whole second":   {Decision{Rate: five, RetryAfter: time.Second}, `"user";q=5;w=1`, `"user";r=0;t=1`, 1},
		"and a bit":        {Decision{Rate: five, RetryAfter: time.Second + 1}, `"user";q=5;w=1`, `"user";r=0;t=2`, 2},
		"slow":             {Decision{Rate: Rate{QPS: 0.4, Burst: 5}, RetryAfter: time.Minute}, `"user";q=5;w=13`, `"user";r=0;t=60`, 60},
		"a tenth of it":    {Decision{OK: true, Rate: Rate{QPS: 5000, Burst: 500}, Remaining: 499, Reset: time.Millisecond}, `"user";q=500;w=1`, `"user";r=499;t=1`, 0},
		"closed":           {Decision{Closed: true, Rate: Rate{Burst: 5}}, `"user";q=0`, `"user";r=0`, 0},
		"beyond the field": {Decision{OK: true, Rate: Rate{QPS: 1, Burst: 1 << 62}, Remaining: 1 << 61}, `"user";q=999999999999999;w=4611686019`, `"user";r=999999999999999;t=0`, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(tt.d.AppendPolicy(nil, "user")); got != tt.policy {
				t.Errorf("policy %s, want %s", got, tt.policy)
			}
			if got := string(tt.d.AppendState(nil, "user")); got != tt.state {
				t.Errorf("state %s, want %s", got, tt.state)
			}
			if got := tt.d.RetryAfterSeconds(); got != tt.retry {
				t.Errorf("Retry-After %d, want %d", got, tt.retry)
			}
		})
	}
}

func TestHeadersAreAppended(t *testing.T) {
	d := Decision{OK: true, Rate: Rate{QPS: 5, Burst: 5}, Remaining: 4, Reset: time.Second}
	line := d.AppendPolicy([]byte("RateLimit-Policy: "), "ip")
	line = d.AppendPolicy(append(line, ", "...), "user")
	if got, want := string(line), `RateLimit-Policy: "ip";q=5;w=1, "user";q=5;w=1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
