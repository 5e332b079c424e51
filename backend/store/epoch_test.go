package store_test

import (
	"net/url"
	"testing"
	"time"

	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

func saleAt(t *testing.T, s *store.Store, item string) order.Sale {
	t.Helper()
	v, err := s.Sale(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An epoch is at least the clock, only ever rises, and has one lease.
func TestEpochNumberUsedTwice(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.Open(t, clock.Now)
	v := saleOf("1", 5)
	storetest.Create(t, s, v)
	at := func() order.Sale { return saleAt(t, s, "1") }
	last := at().Epoch
	later := func(what string, epoch int64) {
		t.Helper()
		if epoch <= last || epoch < clock.Now().UnixMilli() {
			t.Errorf("%s: epoch %d after %d at %d", what, epoch, last, clock.Now().UnixMilli())
		}
		last = epoch
	}
	for range 3 { // in one millisecond
		e, ok, err := s.RaiseEpoch(t.Context(), "1", last, 0, -1)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		later("a raise", e)
		if err := s.SetPaused(t.Context(), "1", true); err != nil {
			t.Fatal(err)
		}
		later("a pause", at().Epoch)
		if e, err = s.Preheat(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		later("a preheat", e)
	}
	clock.Add(time.Hour)
	if _, ok, err := s.RaiseEpoch(t.Context(), "1", last-1, 0, 5000); ok || err != nil {
		t.Errorf("raised an epoch that is over: %v, %v", ok, err)
	}
	e, ok, err := s.RaiseEpoch(t.Context(), "1", last, 0, 5000)
	if err != nil || !ok || e != clock.Now().UnixMilli() {
		t.Errorf("an hour later: %d, %v, %v", e, ok, err)
	}
	for _, after := range []time.Duration{4999 * time.Millisecond, time.Millisecond} { // to its last millisecond
		clock.Add(after)
		if _, ok, err := s.RaiseEpoch(t.Context(), "1", e, 0, 5000); ok || err != nil {
			t.Errorf("under a lease: %v, %v", ok, err)
		}
	}
	if err := s.EndLease(t.Context(), "1", e-1); err != nil {
		t.Fatal(err)
	}
	if at().ReseedUntil == 0 {
		t.Error("another epoch's seeder ended the lease")
	}
	clock.Add(time.Millisecond)
	if _, ok, err := s.RaiseEpoch(t.Context(), "1", e, 0, 5000); !ok || err != nil {
		t.Errorf("when the lease is over: %v, %v", ok, err)
	}
}

// The same by the server's own clock, which no test moves.
func TestEpochFallsOrIsRaisedUnderALease(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		s := db.Open(t, nil)
		storetest.Create(t, s, saleOf("1", 5))
		last := saleAt(t, s, "1").Epoch
		raise := func(from, floor, lease int64) (epoch int64, ok bool) {
			t.Helper()
			before := saleAt(t, s, "1").Now
			epoch, ok, err := s.RaiseEpoch(t.Context(), "1", from, floor, lease)
			if err != nil {
				t.Fatal(err)
			}
			if v := saleAt(t, s, "1"); ok && (epoch <= from || epoch <= floor || epoch < before || v.Epoch != epoch || v.ReseedUntil < before+lease) {
				t.Errorf("raised %d to %d over %d at %d, lease %d: %+v", from, epoch, floor, before, lease, v)
			}
			return epoch, ok
		}
		for range 5 {
			e, ok := raise(last, 0, -time.Hour.Milliseconds())
			if !ok {
				t.Fatal("not raised")
			}
			if _, ok := raise(last, 0, -1); ok {
				t.Error("raised an epoch that is over")
			}
			last = e
		}
		last, ok := raise(last, 0, time.Hour.Milliseconds())
		if !ok {
			t.Fatal("not raised")
		}
		if _, ok := raise(last, 0, 0); ok {
			t.Error("raised under a lease")
		}
		if err := s.EndLease(t.Context(), "1", last-1); err != nil {
			t.Fatal(err)
		}
		if saleAt(t, s, "1").ReseedUntil == 0 {
			t.Error("another epoch's seeder ended the lease")
		}
		if err := s.EndLease(t.Context(), "1", last); err != nil {
			t.Fatal(err)
		}
		ahead := saleAt(t, s, "1").Now + 24*time.Hour.Milliseconds()
		if last, ok = raise(last, ahead, -1); !ok || last != ahead+1 {
			t.Errorf("over a filter that is a day ahead: %d, %v; want %d", last, ok, ahead+1)
		}
		if err := s.SetPaused(t.Context(), "1", true); err != nil || saleAt(t, s, "1").Epoch <= last {
			t.Errorf("a pause left epoch %d, %v", saleAt(t, s, "1").Epoch, err)
		}
	})
}

// A server's clock is told in UTC and in milliseconds, whatever its time zone is.
func TestClockOfAnotherTimeZone(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *storetest.Database) {
		db.DSN += map[string]string{
			"mysql":    "?time_zone=" + url.QueryEscape("'+08:00'"),
			"postgres": "&timezone=Asia%2FShanghai",
		}[db.Driver]
		s := db.Open(t, nil)
		before := time.Now().UnixMilli()
		now, err := s.Now(t.Context())
		if after := time.Now().UnixMilli(); err != nil || now < before || now > after {
			t.Errorf("%d, %v; it was between %d and %d", now, err, before, after)
		}
	})
}
