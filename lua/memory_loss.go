package lua

// A filter's server can lose what it knew. The methods below make a Memory do so
// at a chosen moment, for tests and rehearsals; nothing in a running gateway
// calls them. They are safe for concurrent use with all others: a call that is
// under way ends on what was there when it began.

// Wipe loses everything, as a server does that restarts empty.
func (m *Memory) Wipe() { m.running.Store(newServer()) }

// Snapshot is what a replica has of a [Memory]: its sales and their epochs. Units
// and buyers are not kept, since no one would look at them: see [Memory.Load].
type Snapshot struct {
	sales map[string]terms // by item
}

// Snapshot notes the sales that are there. It can be loaded any number of times.
func (m *Memory) Snapshot() *Snapshot {
	srv := m.running.Load()
	srv.mu.RLock()
	defer srv.mu.RUnlock()
	copied := &Snapshot{make(map[string]terms, len(srv.sales))}
	for item, s := range srv.sales {
		copied.sales[item] = s.terms
	}
	return copied
}

// Load puts the snapshot in the place of everything that was there, as a
// failover does to a replica that is behind. The server that answers from now on
// is another one than the one that was seeded, so that every sale is [Stale]
// until its next seed, whatever the replica believes to have left; that holds for
// a failover and back as well.
func (m *Memory) Load(s *Snapshot) {
	next := newServer()
	for item, t := range s.sales {
		next.sales[item] = &sale{terms: t}
	}
	m.running.Store(next)
}
