package luatest

import (
	"context"
	"net"
	"testing"
)

// StartReplica starts a server that copies the primary and waits until it has
// everything that is there. The primary may be reached over a [Wire], which can
// then cut the two apart.
func StartReplica(t testing.TB, primary Endpoint, args ...string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	s := Start(t, append([]string{"--replicaof", host + " " + port}, args...)...)
	s.synced()
	return s
}

// Promote makes a replica a primary, as a failover does. Its old primary isn't told.
func (s *Server) Promote() {
	s.t.Helper()
	s.do("REPLICAOF", "NO", "ONE")
}

// Follow makes the server a replica of the primary, whatever it was before, and
// waits until the two are linked.
func (s *Server) Follow(primary Endpoint) {
	s.t.Helper()
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		s.t.Fatal(err)
	}
	s.run.log.clear()
	s.do("REPLICAOF", host, port)
	s.synced()
}

// synced waits until a replica has its primary's data, all of it or, where it had
// most already, the place from which the rest follows.
func (s *Server) synced() {
	s.t.Helper()
	s.waitFor("sync: Finished with success", "sync: Master accepted a Partial Resynchronization")
}

// Pair is a primary and a replica that copies it over a wire.
type Pair struct {
	Primary, Replica *Server
	Link             *Wire // between the two
}

// StartPair starts both and waits until they are linked. args are for both.
func StartPair(t testing.TB, args ...string) *Pair {
	t.Helper()
	primary := Start(t, args...)
	link := NewWire(t, primary)
	return &Pair{Primary: primary, Link: link, Replica: StartReplica(t, link, args...)}
}

// LoseTail fails over and loses the last writes: the replica has everything until
// now, the link is cut, writes run against the primary, the primary is killed, and
// the replica, which has heard nothing of them, is promoted. writes may be nil.
// Clients find the new primary with [Wire.Point].
func (p *Pair) LoseTail(writes func()) {
	p.Primary.t.Helper()
	p.sync()
	p.Link.Refuse(true)
	if writes != nil {
		writes()
	}
	p.Primary.Kill()
	p.Replica.Promote()
}

// sync waits until the replica has all that the primary has.
func (p *Pair) sync() {
	t := p.Primary.t
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := p.Primary.Client().Conn()
	defer func() { _ = c.Close() }()
	// WAIT counts up to the last command of its own connection.
	if err := c.Ping(ctx).Err(); err != nil {
		t.Fatalf("luatest: wait for the replica: %v", err)
	}
	if n, err := c.Wait(ctx, 1, patience/2).Result(); err != nil || n != 1 {
		t.Fatalf("luatest: the replica hasn't everything after %v: %v", patience/2, err)
	}
}
