package lua

import (
	"slices"
	"strings"
	"sync"
)

// sale is what is kept of one sale in one epoch. The zero value is a sale of
// which nothing is known: it has no origin, so it is stale to everyone.
type sale struct {
	terms

	mu         sync.Mutex // guards all below
	stock      int64
	buyers     map[string]*note // by user
	version    int64            // of buyers
	admittedAt int64            // Unix milliseconds; 0 for none

	// users are the keys of buyers as of version, made when first asked for.
	// Once made it is never written again, since callers hold it; a change of
	// the buyers drops it and the next reader has a new one made.
	users map[string]struct{}
}

// terms are fixed for the life of an epoch. Times are Unix milliseconds.
type terms struct {
	epoch    int64
	origin   string // of the server that was seeded
	startsAt int64
	endsAt   int64
	perUser  int64
	paused   bool
	keep     int64 // milliseconds after endsAt, from when on nothing is known of the sale
}

// note is what is kept of one buyer; nil is a buyer of whom nothing is known.
// One with neither units nor attempts has no note.
type note struct {
	loose    int64     // units from a seed, which doesn't say which attempt holds how many
	attempts []attempt // per_user bounds them and is small, so a slice beats a map
}

// attempt is a purchase that the filter noted.
type attempt struct {
	bizID string
	qty   int64 // 0 where it came with a seed: its units are among the loose ones
}

// newSale makes the sale that a seed describes and keeps nothing of the seed.
func newSale(s Seed, origin string, keep, version int64) *sale {
	next := &sale{
		terms: terms{
			epoch:    s.Epoch,
			origin:   origin,
			startsAt: s.StartsAt,
			endsAt:   s.EndsAt,
			perUser:  s.PerUser,
			paused:   s.Paused,
			keep:     keep,
		},
		stock:   s.Stock,
		buyers:  make(map[string]*note, len(s.Buyers)),
		version: version,
	}
	for user, seeded := range s.Buyers {
		if n := newNote(seeded); !n.empty() {
			next.buyers[strings.Clone(user)] = n
		}
	}
	return next
}

func newNote(seeded Note) *note {
	n := &note{loose: seeded.Qty}
	for _, bizID := range seeded.BizIDs {
		if !n.noted(bizID) {
			n.attempts = append(n.attempts, attempt{bizID: strings.Clone(bizID)})
		}
	}
	return n
}

func (n *note) noted(bizID string) bool { return n.index(bizID) >= 0 }

// index is where an attempt stands among the buyer's, or -1.
func (n *note) index(bizID string) int {
	if n == nil {
		return -1
	}
	return slices.IndexFunc(n.attempts, func(a attempt) bool { return a.bizID == bizID })
}

// held is the number of units of all attempts together.
func (n *note) held() int64 {
	if n == nil {
		return 0
	}
	units := n.loose
	for _, a := range n.attempts {
		units += a.qty
	}
	return units
}

func (n *note) empty() bool { return n.loose == 0 && len(n.attempts) == 0 }

// staleTo says that this is not the sale the caller means, or that it was seeded
// into a server other than the one that answers now.
func (t terms) staleTo(a asking) bool { return t.epoch != a.epoch || t.foreign(a.origin) }

func (t terms) foreign(origin string) bool { return t.origin != origin }

// forgotten says that the sale is long over. Subtracting from now can't overflow,
// adding to endsAt could: a sale may be told to end never.
func (t terms) forgotten(now int64) bool { return now-t.keep >= t.endsAt }

// take hands out the units of an admitted request. The strings are copied: a
// caller's may point into a buffer that is used again after the call. For the
// same reason a buyer's note is written in place, since storing it anew under an
// equal string would put the caller's string into the map.
func (s *sale) take(r Request) {
	n := s.buyers[r.User]
	if n == nil {
		n = new(note)
		s.buyers[strings.Clone(r.User)] = n
	}
	n.attempts = append(n.attempts, attempt{strings.Clone(r.BizID), int64(r.Qty)})
	s.stock -= int64(r.Qty)
}

// giveBack takes an attempt out of the notes and puts its units back: as many as
// it was admitted with, or, where only a seed knew of it, as many as the caller
// says and the user's loose units allow. It reports whether there was one.
func (s *sale) giveBack(user, bizID string, qty int64) bool {
	n := s.buyers[user]
	i := n.index(bizID)
	if i < 0 {
		return false
	}
	units := n.attempts[i].qty
	if units == 0 {
		units = min(qty, n.loose)
		n.loose -= units
	}
	n.attempts = slices.Delete(n.attempts, i, i+1)
	s.stock += units
	if n.empty() {
		delete(s.buyers, user)
	}
	return true
}

// changed marks the buyers as changed.
func (s *sale) changed(version int64) { s.version, s.users = version, nil }

// userSet returns the users noted. The set is shared by all who ask under one
// version: at a hundred thousand buyers, a copy for each batch that is told
// "sold out" would cost more than everything else together.
func (s *sale) userSet() map[string]struct{} {
	if s.users == nil {
		s.users = make(map[string]struct{}, len(s.buyers))
		for user := range s.buyers {
			s.users[user] = struct{}{}
		}
	}
	return s.users
}

// units returns a copy of what each buyer holds.
func (s *sale) units() map[string]int64 {
	held := make(map[string]int64, len(s.buyers))
	for user, n := range s.buyers {
		held[user] = n.held()
	}
	return held
}
