package lua

// asking is what the requests of a batch have in common when they are decided.
type asking struct {
	epoch  int64  // the caller's
	origin string // of the server that is asked, now
	now    int64  // the filter's clock, Unix milliseconds
}

// decide is the filter's word on one request. It changes nothing: whoever calls
// it takes the units of an [Admitted] before deciding the next one.
//
// The checks stand in the order of the verdicts. A key that is noted comes
// before the window and the stock, so that a winner who asks again is never told
// "sold out" because of the unit that is his. The window is open from StartsAt up
// to, not including, EndsAt, as it is in SQL. Units are compared by subtraction:
// held + qty could overflow, and would then pass every limit.
func decide(s *sale, a asking, r Request) Verdict {
	buyer, qty := s.buyers[r.User], int64(r.Qty)
	switch {
	case s.staleTo(a):
		return Stale
	case buyer.noted(r.BizID):
		return Again
	case a.now < s.startsAt:
		return NotStarted
	case a.now >= s.endsAt:
		return Ended
	case s.paused:
		return Paused
	case qty > s.perUser-buyer.held():
		return Duplicate
	case qty > s.stock:
		return SoldOut
	}
	return Admitted
}
