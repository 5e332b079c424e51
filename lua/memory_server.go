package lua

import (
	"crypto/rand"
	"sync"
)

// sweepAtOnce is how many sales a seed looks at in passing, to drop those whose
// time is over. A seed adds one sale at most, so any number above one keeps the
// dead from piling up; at sixteen about one entry in sixteen is dead at worst.
const sweepAtOnce = 16

// server is what a restart or a failover replaces as a whole.
type server struct {
	origin string // no other server has it

	// mu guards the map and is held for a look at it, never during a decision:
	// each sale has a lock of its own, so items don't wait for each other.
	mu    sync.RWMutex
	sales map[string]*sale // by item
}

func newServer() *server {
	return &server{origin: rand.Text(), sales: make(map[string]*sale)}
}

// find returns the sale of an item, or nil. Only a seed makes one, so asking for
// items that don't exist takes no memory.
func (s *server) find(item string) *sale {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sales[item]
}

// open puts a sale in the place of an earlier epoch's, or returns ErrOlder.
// A call that found the earlier one before may still be decided on it: it counts
// as made before the seed, and its epoch tells SQL so.
func (s *server) open(item string, next *sale, now int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
	if old := s.sales[item]; old != nil && !old.forgotten(now) && old.epoch >= next.epoch {
		return ErrOlder
	}
	s.sales[item] = next
	return nil
}

// forget drops a sale, unless another has taken its place.
func (s *server) forget(item string, dead *sale) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sales[item] == dead {
		delete(s.sales, item)
	}
}

// sweep drops the dead among a few sales. A range over a map starts anywhere, so
// every sale is looked at in the end.
func (s *server) sweep(now int64) {
	looked := 0
	for item, old := range s.sales {
		if looked == sweepAtOnce {
			return
		}
		looked++
		if old.forgotten(now) {
			delete(s.sales, item)
		}
	}
}
