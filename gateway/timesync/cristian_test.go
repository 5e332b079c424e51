package timesync

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sample is one whose question took out and whose answer took back, to a machine
// that is offset ahead.
func sample(at, offset, out, back time.Duration) Sample {
	sent := noon.Add(at)
	return Sample{Sent: sent, Received: sent.Add(out + back), Remote: sent.Add(out + offset).Truncate(resolution)}
}

func TestBest(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	stepped := Sample{Sent: noon, Received: noon.Add(-time.Hour), Remote: noon}
	tests := map[string]struct {
		samples []Sample
		want    Estimate
		ok      bool
	}{
		"none": {nil, Estimate{}, false},
		"one": {
			[]Sample{sample(0, s, 2*ms, 2*ms)},
			Estimate{At: noon.Add(4 * ms), Offset: s, Bound: 2*ms + resolution}, true,
		},
		"behind": {
			[]Sample{sample(0, -s, 2*ms, 2*ms)},
			Estimate{At: noon.Add(4 * ms), Offset: -s, Bound: 2*ms + resolution}, true,
		},
		"the shortest trip": {
			[]Sample{sample(0, s, 9*ms, 1*ms), sample(s, s, 1*ms, 1*ms), sample(2*s, s, 1*ms, 9*ms)},
			Estimate{At: noon.Add(s + 2*ms), Offset: s, Bound: ms + resolution}, true,
		},
		"the latest of equals": {
			[]Sample{sample(0, s, ms, ms), sample(s, s, ms, ms)},
			Estimate{At: noon.Add(s + 2*ms), Offset: s, Bound: ms + resolution}, true,
		},
		"one way slow": {
			[]Sample{sample(0, s, 0, 10*ms)},
			Estimate{At: noon.Add(10 * ms), Offset: s - 5*ms, Bound: 5*ms + resolution}, true,
		},
		"no time at all": {
			[]Sample{sample(0, s, 0, 0)},
			Estimate{At: noon, Offset: s, Bound: resolution}, true,
		},
		"answered before asked": {[]Sample{stepped}, Estimate{}, false},
		"one answered before asked": {
			[]Sample{stepped, sample(0, s, ms, ms)},
			Estimate{At: noon.Add(2 * ms), Offset: s, Bound: ms + resolution}, true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Best(tt.samples)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Errorf("ok is %v, want %v (-want +got)\n%s", ok, tt.ok, diff)
			}
		})
	}
}

// However the delays fall, and however far the clocks drift within the allowance
// afterwards, the true time of the source is within the error that is told.
func TestErrorBoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string, low, high time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(low), int64(high)).Draw(t, what))
		}
		offset := draw("offset", -time.Hour, time.Hour)
		var samples []Sample
		for i := range rapid.IntRange(1, 8).Draw(t, "samples") {
			at := time.Duration(i) * time.Second
			samples = append(samples, sample(at, offset, draw("out", 0, time.Second), draw("back", 0, time.Second)))
		}
		e, ok := Best(samples)
		if !ok {
			t.Fatal("no estimate")
		}
		local := &settable{e.At}
		c := New(local.now)
		c.Set(Redis, e)

		age := draw("age", 0, time.Hour)
		local.at = e.At.Add(age)
		ppm := rapid.Float64Range(-drift, drift).Draw(t, "drift")
		truth := local.at.Add(offset + time.Duration(float64(age)*ppm))
		if off := c.Now().Sub(truth).Abs(); off > c.Error()+1 { // a nanosecond of the test's own rounding
			t.Fatalf("off by %v, yet Error is %v", off, c.Error())
		}
	})
}
