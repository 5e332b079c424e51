package storetest

import (
	"syscall"
	"testing"
)

// Server is a database of its own, on a real MariaDB or PostgreSQL. Its methods
// fail the test that they are given, or the one that asked for the database. Those
// that stop and start the server need one that is private (StartMariaDB,
// StartPostgreSQL) and are called by one goroutine at a time.
type Server struct {
	t       testing.TB
	run     *instance
	login   login
	private bool
}

// MariaDB makes an empty database that is dropped with the test, on a server that
// all tests of the process share. Main, or Stop, ends that server.
func MariaDB(t testing.TB) *Server { t.Helper(); return mariadb.database(t) }

// PostgreSQL is MariaDB's counterpart.
func PostgreSQL(t testing.TB) *Server { t.Helper(); return postgres.database(t) }

// StartMariaDB starts a server that is the test's alone, with an empty database.
func StartMariaDB(t testing.TB) *Server { t.Helper(); return mariadb.private(t) }

// StartPostgreSQL is StartMariaDB's counterpart.
func StartPostgreSQL(t testing.TB) *Server { t.Helper(); return postgres.private(t) }

// database makes a database on the shared server.
func (e *engine) database(t testing.TB) *Server {
	t.Helper()
	run, name, err := e.share()
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	s := &Server{t: t, run: run, login: login{user: name, password: name, database: name}}
	if err := s.administer(e.create(name)); err != nil {
		t.Fatalf("storetest: make a database: %v; the server said:\n%s", err, run.run.log)
	}
	t.Cleanup(func() {
		if err := s.administer(e.drop(name)); err != nil {
			t.Errorf("storetest: drop the database: %v", err)
		}
	})
	return s
}

// private makes a server with a database.
func (e *engine) private(t testing.TB) *Server {
	t.Helper()
	run, err := newInstance(e)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	const name = "rushgate"
	s := &Server{t: t, run: run, login: login{user: name, password: name, database: name}, private: true}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server said:\n%s", run.run.log)
		}
		if err := run.remove(); err != nil {
			t.Errorf("storetest: remove the server's data: %v", err)
		}
	})
	if err := s.administer(e.create(name)); err != nil {
		t.Fatalf("storetest: make a database: %v", err)
	}
	return s
}

// Driver is the engine as a configuration names it: "mysql" or "postgres".
func (s *Server) Driver() string { return s.run.engine.driver }

// DSN is the data source name of the database, in the form of the driver's.
func (s *Server) DSN() string { return s.dsn(s.Addr()) }

// dsn is the data source name by way of another address.
func (s *Server) dsn(addr string) string { return s.run.engine.dsn(addr, s.login) }

// Addr is where the server listens, host:port. A restart doesn't change it.
func (s *Server) Addr() string { return s.run.addr() }

// Kill ends the server at once, as a crash does. What was committed is on disk.
func (s *Server) Kill() {
	s.t.Helper()
	s.mustBePrivate()
	s.run.run.kill()
}

// Restart starts the server again at the same address, after Kill or instead of
// it. It comes back with what was committed.
func (s *Server) Restart() {
	s.t.Helper()
	s.mustBePrivate()
	s.run.run.kill()
	if err := s.run.launch(); err != nil {
		s.t.Fatalf("storetest: restart: %v", err)
	}
}

// Pause freezes the server: its connections stay open and nothing is answered.
func (s *Server) Pause() {
	s.t.Helper()
	s.mustBePrivate()
	if err := s.run.run.freeze(); err != nil {
		s.t.Fatalf("storetest: freeze %s: %v", s.run.run.name(), err)
	}
}

// Continue lets a frozen server go on. What it was sent meanwhile it executes now.
func (s *Server) Continue() {
	s.t.Helper()
	s.mustBePrivate()
	if err := s.run.run.signal(syscall.SIGCONT); err != nil {
		s.t.Fatalf("storetest: let %s go on: %v", s.run.run.name(), err)
	}
}

func (s *Server) mustBePrivate() {
	s.t.Helper()
	if !s.private {
		s.t.Fatal("storetest: other tests use this server; take StartMariaDB or StartPostgreSQL")
	}
}
