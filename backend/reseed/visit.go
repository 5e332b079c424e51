package reseed

import (
	"context"
	"errors"
	"time"

	"rushgate/lua"
)

// lease is how long a seeder may take before another may raise the epoch again.
const lease = 5 * time.Second

// lookTime bounds one look at one sale, and a whole reseed with it: a seeder has
// given up before its lease ends.
const lookTime = lease

// footprint identifies a state of both sides, so that buyers are compared once
// for each state and not every second.
type footprint struct{ epoch, num, lastOrder, stock, version int64 }

// visit looks at one sale if its time has come.
func (s *Seeder) visit(ctx context.Context, item string) error {
	s.mu.Lock()
	w := s.sales[item]
	s.mu.Unlock()
	if w == nil || s.opt.Now().Before(w.notBefore) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	soldOut := s.setSoldOut(w, false)
	answered, err := s.compare(ctx, item, w, soldOut)
	if soldOut && !answered {
		s.setSoldOut(w, true)
	}
	return err
}

func (s *Seeder) setSoldOut(w *watched, now bool) (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, w.soldOut = w.soldOut, now
	return before
}

// compare looks once and reseeds the sale if there is a reason. It reports
// whether that answers a refusal of what the filter had admitted.
func (s *Seeder) compare(ctx context.Context, item string, w *watched, soldOut bool) (answered bool, err error) {
	start := s.opt.Now()
	l, err := s.look(ctx, item, w, soldOut)
	if err != nil {
		// Somebody may ask with every purchase. Half an interval, so that the
		// next round is not missed.
		w.notBefore = start.Add(s.opt.Interval / 2)
		return false, err
	}
	cause := l.cause()
	if cause == noReason {
		return true, nil
	}
	if l.sale.ReseedUntil >= l.sale.Now { // another seeder is at it
		return false, nil
	}
	if wait := l.tooSoon(cause, s.opt.Interval); wait > 0 {
		w.notBefore = start.Add(wait)
		return false, nil
	}
	_, err = s.reseed(ctx, item, l.sale.Epoch, l.view.Epoch, cause)
	w.notBefore = start.Add(s.opt.Interval)
	if err == nil { // of one that failed, its lease says when the next may begin
		w.notBefore = start.Add(max(s.opt.Interval, 20*s.opt.Now().Sub(start)))
	}
	return err == nil, err
}

// look compares once. Buyers are read only when the sale is quiet and something
// has changed since they last agreed.
func (s *Seeder) look(ctx context.Context, item string, w *watched, soldOut bool) (look, error) {
	l := look{soldOut: soldOut, repairAfter: s.opt.RepairAfter}
	err := s.lookAtEpochs(ctx, item, &l)
	if err != nil {
		return look{}, err
	}
	seen := footprint{l.sale.Epoch, l.sale.Num, l.sale.LastOrderAt, l.view.Stock, l.view.Version}
	if l.cause() != noReason || !l.quiet() || w.agreed == seen {
		return l, nil
	}
	if err = s.lookAtBuyers(ctx, &l); err != nil {
		return look{}, err
	}
	if l.cause() == noReason && l.quiet() {
		w.agreed = seen
	}
	return l, nil
}

// lookAtEpochs reads the filter, then SQL. Where they are at different epochs
// the filter is read once more: a seeder elsewhere may have finished in between.
// One that starts later ends the epoch that was read, and then [Seeder.reseed]
// does nothing.
func (s *Seeder) lookAtEpochs(ctx context.Context, item string, l *look) (err error) {
	if l.view, err = s.opt.Filter.View(ctx, item, false); err != nil {
		return err
	}
	if l.sale, err = s.opt.SQL.Sale(ctx, item); err != nil {
		return err
	}
	if l.view.Stale || l.view.Epoch != l.sale.Epoch {
		l.view, err = s.opt.Filter.View(ctx, item, false)
	}
	return err
}

// lookAtBuyers adds the buyers of both sides. The sale's row is read last, so
// that whatever went on since the view shows in it, and the sale is not quiet.
func (s *Seeder) lookAtBuyers(ctx context.Context, l *look) (err error) {
	item := l.sale.Item
	if l.view, err = s.opt.Filter.View(ctx, item, true); err != nil {
		return err
	}
	seed, err := s.opt.SQL.Snapshot(ctx, item)
	if err != nil {
		return err
	}
	l.buyers = make(map[string]int64, len(seed.Buyers))
	for user, note := range seed.Buyers {
		l.buyers[user] = note.Qty
	}
	l.sale, err = s.opt.SQL.Sale(ctx, item)
	return err
}

// Reseed raises the epoch and seeds the filter under it, whatever the state of
// both. It returns the new epoch, or 0 if another seeder was faster, which
// serves as well.
func (s *Seeder) Reseed(ctx context.Context, item string, cause Cause) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	view, err := s.opt.Filter.View(ctx, item, false)
	if err != nil {
		return 0, err
	}
	sale, err := s.opt.SQL.Sale(ctx, item)
	if err != nil {
		return 0, err
	}
	return s.reseed(ctx, item, sale.Epoch, view.Epoch, cause)
}

// reseed ends the epoch that was looked at and seeds the next, later than the
// filter's floor: of two epochs the filter keeps the later. Where the epoch has
// ended already, so has what was wrong with it.
func (s *Seeder) reseed(ctx context.Context, item string, from, floor int64, cause Cause) (int64, error) {
	epoch, ok, err := s.opt.SQL.RaiseEpoch(ctx, item, from, floor, lease.Milliseconds())
	if err != nil || !ok {
		return 0, err
	}
	seed, err := s.opt.SQL.Snapshot(ctx, item)
	if err != nil {
		return 0, err
	}
	if seed.Epoch != epoch { // a later one has begun, and this lease ended with its epoch
		return 0, nil
	}
	switch err = s.opt.Filter.Seed(ctx, seed); {
	case errors.Is(err, lua.ErrOlder):
		return 0, s.opt.SQL.EndLease(ctx, item, epoch)
	case err != nil:
		return 0, err // stale until the lease ends; then the next raise
	}
	s.opt.Reseeded(item, cause)
	return epoch, s.opt.SQL.EndLease(ctx, item, epoch)
}
