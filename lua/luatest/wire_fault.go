package luatest

import "time"

// faults are what is wrong with a wire. The zero value but for the address is a
// good one.
type faults struct {
	to         string        // the server's host:port
	refusing   bool          // closes connections
	swallowing bool          // nothing passes, in no direction
	losing     bool          // replies break the connection
	holding    bool          // replies wait
	delay      time.Duration // replies wait for as long
}

// set changes the faults and tells the links that wait.
func (w *Wire) set(change func(*faults)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.faults)
	close(w.moved)
	w.moved = make(chan struct{})
}

// look returns the faults, and what is closed at their next change.
func (w *Wire) look() (faults, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults, w.moved
}

// Cut cuts every connection that is open, and only those.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		w.cutLocked(l)
	}
}

// Point makes the wire lead to another server, as a failover does that moves an
// address. The connections to the old one are cut.
func (w *Wire) Point(to Endpoint) {
	w.set(func(f *faults) { f.to = to.Addr() })
	w.Cut()
}

// Refuse says whether connections are closed from now on: those that are open, and
// new ones at once.
func (w *Wire) Refuse(refuse bool) {
	w.set(func(f *faults) { f.refusing = refuse })
	if refuse {
		w.Cut()
	}
}

// Blackhole says whether everything is swallowed from now on, in both directions:
// new connections are accepted, those that are open stay so, and nothing that is
// sent arrives. A connection of which something was swallowed, or that was opened
// meanwhile, is cut when the hole closes: what is missing would never come.
func (w *Wire) Blackhole(swallow bool) {
	w.set(func(f *faults) { f.swallowing = swallow })
	if swallow {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		if l.holed {
			w.cutLocked(l)
		}
	}
}

// Hold says whether replies are held back from now on: requests still reach the
// server and are executed, and the connections stay open. What was held arrives
// when it is over.
func (w *Wire) Hold(hold bool) { w.set(func(f *faults) { f.holding = hold }) }

// Delay makes each reply arrive later by d from now on; 0 ends it. It costs time,
// not throughput: replies are delayed side by side.
func (w *Wire) Delay(d time.Duration) { w.set(func(f *faults) { f.delay = d }) }

// LoseReplies says whether replies get lost from now on: a request still reaches
// the server and is executed, and the connection breaks in place of the reply.
func (w *Wire) LoseReplies(lose bool) { w.set(func(f *faults) { f.losing = lose }) }

// Lost is how many replies [Wire.LoseReplies] has lost so far.
func (w *Wire) Lost() int64 { return w.lost.Load() }

// Held is how many replies [Wire.Hold] has held back so far. A long one may count
// more than once.
func (w *Wire) Held() int64 { return w.held.Load() }

// Swallowed is how many requests [Wire.Blackhole] has swallowed so far. A long one
// may count more than once.
func (w *Wire) Swallowed() int64 { return w.swallowed.Load() }
