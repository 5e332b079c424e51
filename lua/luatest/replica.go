package luatest

import (
	"context"
	"net"
	"testing"
)

// StartReplica starts a server that copies the primary and waits until it has
// everything that is there.
func StartReplica(t testing.TB, primary *Server, args ...string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(primary.addr)
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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Client().ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		s.t.Fatalf("luatest: promote: %v", err)
	}
}

// Follow makes the server a replica of the primary, whatever it was before, and
// waits until the two are linked.
func (s *Server) Follow(primary *Server) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	host, port, err := net.SplitHostPort(primary.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.run.log.clear()
	if err := s.Client().ReplicaOf(ctx, host, port).Err(); err != nil {
		s.t.Fatalf("luatest: follow %s: %v", primary.addr, err)
	}
	s.synced()
}

// synced waits until a replica has its primary's data, all of it or, where it had
// most already, the place from which the rest follows.
func (s *Server) synced() {
	s.t.Helper()
	if err := s.run.waitFor("sync: Finished with success", "sync: Master accepted a Partial Resynchronization"); err != nil {
		s.t.Fatalf("luatest: %v; it said:\n%s", err, s.run.log)
	}
}
