package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rushgate/backend/api"
)

// attempts bounds how often a transaction is made anew after the database was
// busy or a guard did not hold. Each new plan reads what the winner wrote, so
// more than two are needed only when the same rows change again and again.
const attempts = 4

// lookUpTime bounds the look-ups after a lost commit, those of a whole group
// together: nobody's gateway waits longer. They have their own time: the group's
// may be what just ran out.
const lookUpTime = time.Second

// transact takes a group to its answers. A guard that does not hold, and again
// does not hold, rolls the whole group back; its members are then placed one by
// one, so that one bad purchase never fails its neighbours.
func (p *Placer) transact(ctx context.Context, item string, group []Purchase) []Answer {
	answers, fresh, err := p.persist(ctx, item, group)
	switch {
	case err == nil:
		return answers
	case errors.Is(err, ErrCommit):
		return p.confirm(ctx, group, answers, fresh)
	case errors.Is(err, api.ErrNotFound):
		err = ErrNoSale
	case len(group) > 1 && !errors.Is(err, ErrBusy):
		answers = make([]Answer, 0, len(group))
		for i := range group {
			answers = append(answers, p.transact(ctx, item, group[i:i+1])...)
		}
		return answers
	}
	answers = make([]Answer, len(group))
	for i := range answers {
		answers[i].Err = fmt.Errorf("%w: %w", api.ErrFailed, err)
	}
	return answers
}

// persist makes the attempts that can help. A busy database is nobody's fault,
// so the group stays together. A guard mostly means that another process sold
// meanwhile, which a new plan takes into account; where that doesn't help, one of
// the group is to blame, and only a purchase alone is tried on.
func (p *Placer) persist(ctx context.Context, item string, group []Purchase) (answers []Answer, fresh map[Key]bool, err error) {
	for i := 1; ; i++ {
		answers, fresh, err = p.attempt(ctx, item, group)
		again := errors.Is(err, ErrBusy) || errors.Is(err, ErrGuard) && (len(group) == 1 || i == 1)
		if !again || i == attempts || !pause(ctx, backoff(i)) {
			return answers, fresh, err
		}
	}
}

// attempt is one transaction: read, plan, write, commit. The answers, and the
// keys whose outcome this transaction wrote, hold if err is nil; with ErrCommit
// those of the other keys do.
func (p *Placer) attempt(ctx context.Context, item string, group []Purchase) (answers []Answer, fresh map[Key]bool, err error) {
	keys := make([]Key, len(group))
	for i := range group {
		keys[i] = group[i].Key
	}
	err = p.opt.Store.Update(ctx, func(tx Tx) error {
		sale, outcomes, bought, err := tx.Read(ctx, item, keys)
		if err != nil {
			return err
		}
		var w Write
		answers, w, err = plan(sale, outcomes, bought, group, p.opt.PayWithin.Milliseconds(), p.opt.Numbers.Next)
		if err != nil || len(w.Rows) == 0 {
			return err
		}
		fresh = w.keys()
		return tx.Write(ctx, w)
	})
	return answers, fresh, err
}

// confirm asks for the outcomes after a commit whose answer was lost. What the
// transaction did not write is as the plan said: an earlier outcome, or an
// answer that leaves no trace.
func (p *Placer) confirm(ctx context.Context, group []Purchase, answers []Answer, fresh map[Key]bool) []Answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookUpTime)
	defer cancel()
	for i := range group {
		if fresh[group[i].Key] {
			answers[i] = p.lookUp(ctx, &group[i])
		}
	}
	return answers
}

// lookUp asks for one outcome. None found proves nothing: the commit may still
// be on its way.
func (p *Placer) lookUp(ctx context.Context, purchase *Purchase) Answer {
	o, err := p.opt.Store.Outcome(ctx, purchase.Key)
	if err != nil {
		return Answer{Err: fmt.Errorf("commit not confirmed: %w", api.ErrUnknown)}
	}
	return told(o, purchase)
}

// backoff before attempt i+1: 2, 8, 32 ms, longer than a transaction takes and
// short against a client's patience.
func backoff(i int) time.Duration { return time.Millisecond << (2*i - 1) }

// pause waits, or reports false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
