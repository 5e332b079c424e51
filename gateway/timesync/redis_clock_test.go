package timesync

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"rushgate/lua/luatest"
)

// signals is a log that tells when something was said.
type signals struct{ said chan string }

func (s signals) Write(line []byte) (int, error) {
	s.said <- string(line)
	return len(line), nil
}

func (s signals) wait(t *testing.T) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	select {
	case <-s.said:
	case <-deadline.C:
		t.Fatal("nothing was said for 30 s")
	}
}

// The clock agrees with Redis' as exactly as it tells, is kept while Redis is
// frozen, and is measured again after that.
func TestClockOfRedis(t *testing.T) {
	server := luatest.Start(t)
	ask := AskRedis(server.Client())
	c, said, first := New(time.Now), signals{make(chan string, 100)}, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	var once sync.Once
	asked := 0
	running.Go(func() {
		Follow(ctx, FollowOptions{
			Clock: c, Every: 20 * time.Millisecond, Timeout: time.Second, Samples: 8,
			Log: slog.New(slog.NewTextHandler(said, nil)),
			Ask: func(ctx context.Context) (time.Time, error) {
				if asked++; asked > 8 { // the first measurement was taken over
					once.Do(func() { close(first) })
				}
				return ask(ctx)
			},
		})
	})
	agree := func() {
		t.Helper()
		low := c.Now().Add(-c.Error())
		now, err := ask(t.Context())
		high := c.Now().Add(c.Error())
		if err != nil || now.Add(resolution).Before(low) || now.After(high.Add(resolution)) {
			t.Errorf("Redis says %v, %v, and the clock %v to %v", now, err, low, high)
		}
	}
	<-first
	if c.Source() != Redis {
		t.Fatalf("goes by %q after a measurement", c.Source())
	}
	agree()

	server.Pause()
	said.wait(t)
	before := c.Error()
	for c.Error() <= before { // it grows with the time that passes
		if c.Source() != Redis {
			t.Fatalf("goes by %q while Redis is frozen", c.Source())
		}
	}
	server.Continue()
	said.wait(t)
	agree()
}

// Redis reads its clock for each TIME anew, even where it was kept busy between two
// in one turn of its event loop. Were it a reading from before the question, the
// bound of the error would be wrong.
func TestRedisTellsTheTimeOfTheCall(t *testing.T) {
	c := luatest.Start(t).Client()
	pipe := c.Pipeline()
	first := pipe.Time(t.Context())
	pipe.Do(t.Context(), "DEBUG", "SLEEP", "0.05")
	second := pipe.Time(t.Context())
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := second.Val().Sub(first.Val()); d < 50*time.Millisecond {
		t.Errorf("%v passed between two readings with 50 ms between them", d)
	}
}
