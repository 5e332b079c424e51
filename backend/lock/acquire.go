package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
)

// acquire waits for the turn in this process, then contends with other processes.
func (r *Redis) acquire(ctx context.Context, key string, t terms) (*hold, error) {
	if r.breaker.State() == gobreaker.StateOpen {
		return nil, fmt.Errorf("%w: redis gave no answer a moment ago", ErrUnavailable)
	}
	l, err := r.lines.enter(ctx, key)
	if err != nil {
		return nil, err
	}
	// The token is of this wish alone: one per process would make two callers of a
	// process the same holder. It has 130 bits of chance.
	c := claim{key: key, token: rand.Text(), ttl: t.ttl}
	sent, err := r.contend(ctx, l, c)
	r.lines.served(l)
	if err != nil {
		r.lines.leave(key, l)
		return nil, err
	}
	return r.hold(ctx, l, c, t, sent), nil
}

// contend tries until the claim has the lock, and returns when the request was sent
// that Redis said yes to.
func (r *Redis) contend(ctx context.Context, l *line, c claim) (sent time.Time, err error) {
	for {
		answer, err := r.try(ctx, c)
		switch {
		case err != nil:
			return time.Time{}, err
		case answer.left != 0:
			r.lines.listen(c.key, l)
			if err := l.wait(ctx, pause(answer.left, r.opt.Poll, r.opt.Chance())); err != nil {
				return time.Time{}, err
			}
		case r.opt.Now().Before(answer.sent.Add(c.ttl)):
			return answer.sent, nil
		} // else it was over before it was known
	}
}

// wait returns when there is reason to try again, or the cause of ctx.
func (l *line) wait(ctx context.Context, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.woken:
	case <-timer.C:
	}
	return nil
}

// pause is how long a waiter sleeps unless it is woken: until the holder's time is
// over, which wakes nobody, or between a half and one and a half polls. Chance is in
// [0, 1); left is less than 0 where the holder has no end.
func pause(left, poll time.Duration, chance float64) time.Duration {
	p := poll/2 + time.Duration(chance*float64(poll))
	if left > 0 {
		p = min(p, left)
	}
	return p
}

// reply is what Redis said to a claim.
type reply struct {
	sent time.Time     // before the request
	left time.Duration // 0: the claim has the lock
}

// tried is how a try ended.
type tried struct {
	reply
	err error
}

// try asks Redis for the lock and waits for the answer no longer than ctx lasts. The
// call itself has its own bound, and lasts as long as it needs: broken off it would
// leave open whether the claim has the lock, and whether Redis is well. An answer that
// nobody waits for any more, and a lock that nobody knows of, is given back.
func (r *Redis) try(ctx context.Context, c claim) (reply, error) {
	if ctx.Err() != nil {
		return reply{}, context.Cause(ctx)
	}
	answered := make(chan tried)
	go func() {
		var t tried
		t.reply, t.err = r.breaker.Execute(func() (reply, error) { return r.ask(ctx, c) })
		orphan := isUnknown(t.err)
		select {
		case answered <- t:
		case <-ctx.Done():
			orphan = orphan || t.err == nil && t.left == 0
		}
		if orphan {
			_, _ = r.release(ctx, c) // or else its time runs out
		}
	}()
	select {
	case t := <-answered:
		if t.err != nil {
			return reply{}, fmt.Errorf("%w: %w", ErrUnavailable, t.err)
		}
		return t.reply, nil
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// ask sends the claim, and once more where the connection broke: if the first has
// arrived, the second is told so, because the token is the same. A call that timed
// out isn't repeated, for there was no time for it.
func (r *Redis) ask(ctx context.Context, c claim) (reply, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	answer := reply{sent: r.opt.Now()}
	var err error
	if answer.left, err = c.take(ctx, r.opt.Client); brokeOff(err) {
		first := err
		answer.sent = r.opt.Now()
		if answer.left, err = c.take(ctx, r.opt.Client); err != nil {
			err = errors.Join(first, err) // a first that is unknown stays so
		}
	}
	return answer, err
}

// release gives the claim's lock back, and asks once more where the connection broke.
// Unless the second finds the lock still held, it can't tell whether the first gave it
// back or it was lost before: that is an error.
func (r *Redis) release(ctx context.Context, c claim) (outcome, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	o, err := c.release(ctx, r.opt.Client)
	if !brokeOff(err) {
		return o, err
	}
	if again, errAgain := c.release(ctx, r.opt.Client); errAgain == nil && again == done {
		return done, nil
	}
	return o, err
}

// bound gives a call the values of ctx and a time of its own.
func (r *Redis) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), r.opt.Timeout)
}
