package timesync

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// settable is a clock that stands where it is put.
type settable struct{ at time.Time }

func (s *settable) now() time.Time { return s.at }

func TestLocalClock(t *testing.T) {
	local := &settable{noon}
	c := New(local.now)
	for _, at := range []time.Time{noon, noon.Add(time.Hour), noon.Add(-time.Hour)} {
		local.at = at
		if got := c.Now(); !got.Equal(at) {
			t.Errorf("Now is %v, want %v", got, at)
		}
		if got := c.Millis(); got != at.UnixMilli() {
			t.Errorf("Millis is %d, want %d", got, at.UnixMilli())
		}
		if got := c.Error(); got != 0 {
			t.Errorf("Error is %v, want 0: there is only one clock", got)
		}
		if got := c.Source(); got != Local {
			t.Errorf("Source is %q, want %q", got, Local)
		}
	}
}

func TestMeasuredClock(t *testing.T) {
	local := &settable{noon}
	c := New(local.now)
	c.Set(Redis, Estimate{At: noon, Offset: 90 * time.Second, Bound: 3 * time.Millisecond})
	steps := []struct {
		elapsed time.Duration
		bound   time.Duration
	}{
		{0, 3 * time.Millisecond},
		{10 * time.Second, 8 * time.Millisecond},
		{15 * time.Minute, 453 * time.Millisecond}, // the source was away for long
		{-10 * time.Second, 8 * time.Millisecond},
	}
	for _, step := range steps {
		local.at = noon.Add(step.elapsed)
		if got, want := c.Now(), noon.Add(step.elapsed+90*time.Second); !got.Equal(want) {
			t.Errorf("after %v: Now is %v, want %v", step.elapsed, got, want)
		}
		if got := c.Error(); got != step.bound {
			t.Errorf("after %v: Error is %v, want %v", step.elapsed, got, step.bound)
		}
	}
	if got := c.Source(); got != Redis {
		t.Errorf("Source is %q, want %q", got, Redis)
	}
	c.Reset()
	if got := c.Source(); got != Local || c.Error() != 0 || !c.Now().Equal(local.at) {
		t.Errorf("after Reset: source %q, error %v, now %v", got, c.Error(), c.Now())
	}
}

// Two times of the sale are compared as its clock tells them, whatever the local
// clock did in between, so they carry no monotonic reading of it.
func TestMeasuredTimeIsTheSourcesAlone(t *testing.T) {
	start := time.Now()
	c := New(time.Now)
	c.Set(Redis, Estimate{At: start, Offset: time.Minute})
	got := c.At(start.Add(10 * time.Second))
	if want := start.Round(0).Add(time.Minute + 10*time.Second); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTimeAnswer(t *testing.T) {
	received := noon.Add(1234567 * time.Nanosecond)
	tests := map[string]struct {
		set  func(*Clock)
		sent time.Time
		want string
	}{
		"local": {
			func(*Clock) {}, received.Add(250 * time.Microsecond),
			`{"now":1794398400001,"t1":1794398400001234,"t2":1794398400001484,"source":"local"}`,
		},
		"redis, ahead": {
			func(c *Clock) { c.Set(Redis, Estimate{At: noon, Offset: time.Second}) }, received.Add(250 * time.Microsecond),
			`{"now":1794398401001,"t1":1794398401001234,"t2":1794398401001484,"source":"redis"}`,
		},
		"redis, behind": {
			func(c *Clock) { c.Set(Redis, Estimate{At: noon, Offset: -time.Second}) }, received.Add(999 * time.Millisecond),
			`{"now":1794398400000,"t1":1794398399001234,"t2":1794398400000234,"source":"redis"}`,
		},
		"set back in between": {
			func(*Clock) {}, noon,
			`{"now":1794398400000,"t1":1794398400000000,"t2":1794398400000000,"source":"local"}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := New((&settable{noon}).now)
			tt.set(c)
			got := c.Append([]byte("body: "), received, tt.sent)
			if diff := cmp.Diff("body: "+tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The three times of an answer are one clock's, and that clock is the one that
// opens the sale.
func TestTimeAnswerAndOpeningAreOneClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string, low, high time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(low), int64(high)).Draw(t, what))
		}
		c := New((&settable{noon}).now)
		if rapid.Bool().Draw(t, "measured") {
			c.Set(Redis, Estimate{At: noon, Offset: draw("offset", -time.Hour, time.Hour)})
		}
		received := noon.Add(draw("received", -time.Hour, time.Hour))
		sent := received.Add(draw("served in", 0, time.Minute))
		var answer struct {
			Now, T1, T2 int64
			Source      Source
		}
		if err := json.Unmarshal(c.Append(nil, received, sent), &answer); err != nil {
			t.Fatal(err)
		}
		if want := c.At(sent); answer.T2 != want.UnixMicro() || answer.Now != want.UnixMilli() {
			t.Fatalf("now %d and t2 %d, want those of %v", answer.Now, answer.T2, want)
		}
		if off := answer.T1 - c.At(received).UnixMicro(); off < 0 || off > 1 || answer.T1 > answer.T2 {
			t.Fatalf("t1 is %d, %d µs from when it was received", answer.T1, off)
		}
		if answer.Source != c.Source() {
			t.Fatalf("source %q, want %q", answer.Source, c.Source())
		}
	})
}

func TestAppendAllocatesNothing(t *testing.T) {
	c := New(time.Now)
	c.Set(Redis, Estimate{At: time.Now(), Offset: time.Second, Bound: time.Millisecond})
	received, buf := time.Now(), make([]byte, 0, 128)
	got := testing.AllocsPerRun(1000, func() {
		buf = c.Append(buf[:0], received, time.Now())
		c.Error()
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// A reader never sees the offset of one measurement with the source of another.
func TestSettingIsWhole(t *testing.T) {
	c := New((&settable{noon}).now)
	const local, redis = `{"now":1794398400000,"t1":1794398400000000,"t2":1794398400000000,"source":"local"}`,
		`{"now":1794398460000,"t1":1794398460000000,"t2":1794398460000000,"source":"redis"}`
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5_000 {
				if got := string(c.Append(nil, noon, noon)); got != local && got != redis {
					t.Errorf("got %s, want %s or %s", got, local, redis)
					return
				}
			}
		})
	}
	for i := range 5_000 {
		if i%2 == 0 {
			c.Set(Redis, Estimate{At: noon, Offset: time.Minute})
		} else {
			c.Reset()
		}
	}
	wg.Wait()
}
