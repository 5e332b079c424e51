package timesync

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// FollowOptions say whose clock is followed, and how. Clock and Ask must be set.
type FollowOptions struct {
	Clock *Clock
	// Ask asks the source for its time, and reads its clock while the question is
	// under way. It returns when ctx ends, at the latest.
	Ask func(ctx context.Context) (time.Time, error)
	// Every is how long a measurement is used; 0 or less means 5 s, in which two
	// clocks drift apart by 2.5 ms at most. That is about what an answer's way
	// makes uncertain already.
	Every   time.Duration
	Samples int              // questions for one measurement; 0 or less means 8
	Timeout time.Duration    // of one question; 0 or less means 250 ms
	Now     func() time.Time // the clock of Clock; nil: time.Now
	Log     *slog.Logger     // nil: none
}

// retryEvery is how soon a source that failed is asked again, if Every isn't sooner.
const retryEvery = time.Second

// errStepped is why a measurement without a failed question is none.
var errStepped = errors.New("the local clock was set back during every question; the next measurement will do")

// Follow keeps the clock on that of a source until ctx ends. It measures at once
// and then every Every.
//
// A measurement that fails changes nothing: the clock runs on by the last one, and
// the error that it tells grows. One that agrees with the clock is used if it is
// the more exact of the two, so a source that became slow makes the clock no worse
// than no answer would. One that disagrees by more than both can be wrong means
// that the source was set, or is another machine now: it is used at once, since
// what counts is the clock that opens the sale. The loss of the source, its return
// and each such step are logged once.
func Follow(ctx context.Context, o FollowOptions) {
	f := follower{FollowOptions: o.withDefaults()}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(f.turn(ctx))
		}
	}
}

func (o FollowOptions) withDefaults() FollowOptions {
	if o.Every <= 0 {
		o.Every = 5 * time.Second
	}
	if o.Samples <= 0 {
		o.Samples = 8
	}
	if o.Timeout <= 0 {
		o.Timeout = 250 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// follower is one run of Follow.
type follower struct {
	FollowOptions
	lost bool
}

// turn makes one measurement and returns the wait for the next.
func (f *follower) turn(ctx context.Context) time.Duration {
	e, err := f.measure(ctx)
	if err != nil {
		if !f.lost && ctx.Err() == nil {
			f.lost = true
			f.Log.Warn("the source of the sale's clock doesn't answer: the clock runs on, less exact the longer it lasts", "error", err)
		}
		return min(f.Every, retryEvery)
	}
	if f.lost {
		f.lost = false
		f.Log.Info("the source of the sale's clock answers again", "error_before", f.Clock.Error())
	}
	f.use(e)
	return f.Every
}

// measure asks until there are enough samples, or an error: then those that came
// before it count, if there are any.
func (f *follower) measure(ctx context.Context) (Estimate, error) {
	samples := make([]Sample, 0, f.Samples)
	var err error
	for len(samples) < f.Samples && err == nil {
		var s Sample
		if s, err = f.sample(ctx); err == nil {
			samples = append(samples, s)
		}
	}
	if e, ok := Best(samples); ok {
		return e, nil
	}
	if err == nil {
		err = errStepped
	}
	return Estimate{}, err
}

func (f *follower) sample(ctx context.Context) (Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	sent := f.Now()
	remote, err := f.Ask(ctx)
	return Sample{Sent: sent, Received: f.Now(), Remote: remote}, err
}

// use sets the clock by an estimate, unless the clock is the more exact of the two
// and they agree.
func (f *follower) use(e Estimate) {
	if f.Clock.Source() == Local {
		f.Clock.Set(Redis, e)
		return
	}
	was := f.Clock.estimate(e.At)
	apart := e.Offset - was.Offset
	stepped := apart.Abs() > e.Bound+was.Bound
	if stepped {
		f.Log.Warn("the source of the sale's clock was set, or is another machine: the sale goes by it from now on", "by", apart)
	}
	if stepped || e.Bound <= was.Bound {
		f.Clock.Set(Redis, e)
	}
}
