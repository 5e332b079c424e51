package admit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rushgate/backend/api"
	"rushgate/lua"
)

// try is one purchase on its way to an answer.
type try struct {
	g      *Gate
	r      *Request
	key    key
	flight *flight
	lane   *lane
	terms  *Terms
	exp    time.Time // nobody waits for an answer after that
}

// buy is the whole decision, from the mark to the outcome.
func (t *try) buy(ctx context.Context) (api.Order, error) {
	switch {
	case t.lane == nil:
		return api.Order{}, ErrNoSuchItem
	case !t.g.opt.Catalogue.Up():
		return api.Order{}, &Overloaded{RetryAfter: time.Second}
	}
	if !t.r.Repeat {
		refused, probe := t.lane.mark.closed(t.lane.epoch.Load(), []byte(t.r.User), int64(t.r.Qty), t.g.opt.Now())
		if refused {
			return t.refused(ctx, t.byMark())
		}
		if probe != nil {
			defer t.lane.mark.unconfirmed(probe)
		}
	}
	if t.g.filter == nil {
		return t.placeOnDB(ctx)
	}
	return t.throughFilter(ctx)
}

// overtaken: nothing was done, since the epoch is over.
type overtaken struct{ epoch int64 }

func (o *overtaken) Error() string { return fmt.Sprintf("epoch %d is over", o.epoch) }

// throughFilter asks the filter, and again under a new epoch: once, or for as
// long as a reseed runs and patience lasts. Otherwise each reseed would send
// purchases down the DB path, whose orders demand the next reseed.
func (t *try) throughFilter(ctx context.Context) (api.Order, error) {
	patience := t.g.opt.Now().Add(t.terms.ReseedWait)
	for round := 0; ; round++ {
		o, err := t.once(ctx)
		var over *overtaken
		if !errors.As(err, &over) {
			return o, err
		}
		if t.g.opt.Catalogue.Refresh(ctx) != nil {
			return t.placeOnDB(ctx)
		}
		moved := t.lane.epoch.Load() > over.epoch
		patient := t.g.opt.Now().Before(patience)
		switch {
		case moved && (round == 0 || patient):
		case t.reseeding() && patient && sleep(ctx, reseedPoll(round)):
		default:
			return t.placeOnDB(ctx)
		}
	}
}

// once asks the filter and acts on its verdict. The error is *overtaken where
// the filter or SQL is at another epoch.
func (t *try) once(ctx context.Context) (api.Order, error) {
	said := t.lane.admit(ctx, lua.Request{User: t.r.User, BizID: t.r.BizID, Qty: t.r.Qty})
	if said.err != nil {
		// The filter may have noted the buyer or not. SQL will know.
		return t.placeOnDB(ctx)
	}
	switch said.verdict {
	case lua.Admitted, lua.Again:
		o, err := t.place(ctx, api.PathRedis, said.epoch)
		if stale, ok := errors.AsType[*api.Stale](err); ok {
			t.lane.learn(stale.Epoch)
			return api.Order{}, &overtaken{said.epoch}
		}
		return o, err
	case lua.Stale:
		return api.Order{}, &overtaken{said.epoch}
	default:
		return t.refused(ctx, codes[said.verdict])
	}
}

// codes are the refusals of the filter.
var codes = map[lua.Verdict]api.Code{
	lua.NotStarted: api.NotStarted, lua.Ended: api.Ended, lua.Paused: api.Paused,
	lua.Duplicate: api.Duplicate, lua.SoldOut: api.SoldOut,
}

// byMark is the code of a refusal by the mark, which says nothing of the window:
// after the end of a sale that sold out, it has ended.
func (t *try) byMark() api.Code {
	if s := t.sale(); s != nil && t.g.opt.NowMS() >= s.EndsAt {
		return api.Ended
	}
	return api.SoldOut
}

// reseeding says whether the catalogue knows of a reseed under way.
func (t *try) reseeding() bool {
	s := t.sale()
	return s != nil && s.ReseedUntil >= t.g.opt.NowMS()
}

// sale is the item in the catalogue, nil if it has gone from there.
func (t *try) sale() *api.Sale {
	s := t.g.opt.Catalogue.Snapshot()
	if s == nil {
		return nil
	}
	return s.Sale([]byte(t.r.Item))
}

// errLate: the time of the purchase was over before SQL was asked.
var errLate = fmt.Errorf("no time was left to place the purchase: %w", api.ErrFailed)

// placeOnDB takes the path without the filter, within its limits.
func (t *try) placeOnDB(ctx context.Context) (api.Order, error) {
	if ctx.Err() != nil {
		return api.Order{}, errLate
	}
	leave, err := t.g.db.enter(t.g.opt.Now())
	if err != nil {
		return api.Order{}, err
	}
	defer leave()
	return t.place(ctx, api.PathDB, t.lane.epoch.Load())
}

// place hands the purchase to the backend.
func (t *try) place(ctx context.Context, path api.Path, epoch int64) (api.Order, error) {
	o, err := t.g.opt.Orders.Place(ctx, t.ticket(path, epoch))
	t.g.opt.Catalogue.Report(err)
	var refusal *api.Refusal
	switch {
	case err == nil && path == api.PathDB:
		t.lane.mark.drop() // there were units after all
	case errors.As(err, &refusal) && refusal.Code == api.SoldOut && refusal.Left != nil:
		t.lane.soldOutBySQL(ctx, epoch, *refusal.Left)
	}
	return o, err
}

// ticket writes a ticket that is good for as long as somebody waits. Its end is
// told by the sale's clock: the backend would find one that is told by the clock of
// a node which is minutes behind over before it began.
func (t *try) ticket(path api.Path, epoch int64) api.Ticket {
	t.g.opt.Meter.Path(path)
	left := min(time.Until(t.exp), t.terms.Window)
	return api.Ticket{
		Item: t.r.Item, User: t.r.User, BizID: t.r.BizID, Qty: t.r.Qty, Epoch: epoch, Path: path,
		Exp: t.g.opt.NowMS() + left.Milliseconds(),
	}
}

// refused turns a refusal by the mark or the filter into the answer. For a
// first try that is all: nothing else carries its key. For a repeat an earlier
// request with the key may be on the DB path or late, so a definite refusal is
// made final in SQL before it is told, and the answer is what is there then.
func (t *try) refused(ctx context.Context, code api.Code) (api.Order, error) {
	if !t.g.flights.seal(t.key, t.flight) {
		return api.Order{}, &api.Refusal{Code: code}
	}
	if !t.g.refuse.Allow(t.g.opt.Now()).OK {
		return api.Order{}, api.ErrUnknown
	}
	if !code.Final() {
		return t.outcomeFirst(ctx, code)
	}
	o, err := t.g.opt.Orders.Refuse(ctx, t.ticket(api.PathRefuse, t.lane.epoch.Load()), code)
	t.g.opt.Catalogue.Report(err)
	if errors.Is(err, api.ErrFailed) {
		// Not recorded, so not definite: the earlier request may still succeed.
		return api.Order{}, fmt.Errorf("%w: the refusal was not recorded: %s", api.ErrUnknown, err.Error())
	}
	return o, err
}

// outcomeFirst looks for an outcome before a repeat is told a refusal that says
// "ask again".
func (t *try) outcomeFirst(ctx context.Context, code api.Code) (api.Order, error) {
	o, err := t.g.opt.Orders.Find(ctx, t.r.User, t.r.BizID)
	t.g.opt.Catalogue.Report(err)
	switch {
	case errors.Is(err, api.ErrNotFound):
		return api.Order{}, &api.Refusal{Code: code}
	case err != nil:
		return api.Order{}, fmt.Errorf("%w: the outcome could not be looked up: %s", api.ErrUnknown, err.Error())
	case o.Item != t.r.Item || o.Qty != t.r.Qty:
		return api.Order{}, api.ErrMismatch
	case o.State == api.StateRefused:
		return api.Order{}, &api.Refusal{Code: o.Code}
	}
	return o, nil
}

// reseedPoll is the pause before the next look at a running reseed: about as
// long as a small one takes, doubling to a twentieth of a second.
func reseedPoll(round int) time.Duration {
	return min(2*time.Millisecond<<min(round, 5), 50*time.Millisecond)
}

// sleep waits, or reports false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
