package reseed_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
	"rushgate/lua"
)

// From the commit that raises the epoch on, no ticket of the old one becomes an
// order: what is in flight then doesn't count.
func TestTicketsOfTheOldEpoch(t *testing.T) {
	w := newWorld(t)
	w.open("1", 10_000)
	for round := range 4 {
		var wg sync.WaitGroup
		errs := make([]error, 64)
		for i := range errs {
			p := w.ticket("1", fmt.Sprint(round, "-", i), api.PathRedis)
			wg.Go(func() { _, errs[i] = w.placer.Place(t.Context(), p) })
		}
		_, ok, err := w.store.RaiseEpoch(t.Context(), "1", w.sale("1").Epoch, 0, 0)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		atRaise, err := w.store.Snapshot(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		after, err := w.store.Snapshot(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		if len(after.Buyers) != len(atRaise.Buyers) || after.Stock != atRaise.Stock {
			t.Errorf("after the raise the orders went from %d to %d", len(atRaise.Buyers), len(after.Buyers))
		}
		for _, err := range errs {
			if _, stale := errors.AsType[*api.Stale](err); err != nil && !stale {
				t.Errorf("told %v, want an order or stale", err)
			}
		}
		w.wait(interval) // the next raise needs a lease that is over
	}
}

// Reseeds follow each other without a pause while buyers go through the filter,
// again and again until they have their order. Nothing is lost or sold twice,
// and in the end both sides say the same.
func TestReseedsUnderLoad(t *testing.T) {
	w := newWorld(t)
	const units, crowd = 40, 80
	w.open("1", units)
	stop := make(chan struct{})
	var reseeder sync.WaitGroup
	reseeder.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			w.clock.Add(1) // no lease is over at the moment it was given
			if _, err := w.seeder.Reseed(t.Context(), "1", reseed.Command); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var sold, lost atomic.Int64
	var wg sync.WaitGroup
	next := atomic.Int64{}
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1); i <= crowd; i = next.Add(1) {
				switch err := w.insist(fmt.Sprint("u", i)); {
				case err == nil:
					sold.Add(1)
				case errors.Is(err, errSoldOut):
					lost.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	reseeder.Wait()
	w.mu.Lock()
	reseeds := len(w.done)
	w.mu.Unlock()
	if reseeds < 5 {
		t.Errorf("%d reseeds: too few to have been in anybody's way", reseeds)
	}
	// Units of admissions that a reseed overtook are on offer again.
	if sold.Load()+lost.Load() != crowd || int64(units)-sold.Load() != w.sale("1").Num {
		t.Errorf("%d sold and %d lost of %d; %d of %d left", sold.Load(), lost.Load(), crowd, w.sale("1").Num, units)
	}
	w.sweeps(int(repairAfter/interval) + 1)
	w.agrees("1")
}

var errSoldOut = errors.New("sold out")

// insist goes through the filter and SQL as often as epochs change in between.
func (w *world) insist(user string) error {
	for {
		sale, err := w.store.Sale(w.t.Context(), "1")
		if err != nil {
			return err
		}
		p := purchase("1", user, api.PathRedis, sale.Epoch)
		reply, err := w.filter.Admit(w.t.Context(), lua.Batch{Item: "1", Epoch: p.Epoch, Requests: []lua.Request{{User: user, BizID: p.Key.BizID, Qty: 1}}})
		if err != nil {
			return err
		}
		switch v := reply.Verdicts[0]; v {
		case lua.Stale:
			continue
		case lua.SoldOut:
			return errSoldOut
		case lua.Admitted, lua.Again:
		default:
			return fmt.Errorf("the filter says %v", v)
		}
		_, err = w.placer.Place(w.t.Context(), p)
		if _, stale := errors.AsType[*api.Stale](err); stale {
			continue
		}
		if r, refused := errors.AsType[*api.Refusal](err); refused && r.Code == api.SoldOut {
			return errSoldOut
		}
		return err
	}
}
