package storetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"rushgate/backend/store/storetest"
)

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // it tells of each connection that is broken on purpose
	storetest.Main(m)
}

// engine is one that the tests run over.
type engine struct {
	driver          string
	shared, private func(testing.TB) *storetest.Server
}

func onEach(t *testing.T, f func(*testing.T, engine)) {
	t.Parallel()
	for _, e := range []engine{
		{"mysql", storetest.MariaDB, storetest.StartMariaDB},
		{"postgres", storetest.PostgreSQL, storetest.StartPostgreSQL},
	} {
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			f(t, e)
		})
	}
}

func TestDatabasesShareTables(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		a, b := e.shared(t), e.shared(t)
		a.Exec(t, "CREATE TABLE t (n INT); INSERT INTO t VALUES (1)")
		b.Exec(t, "CREATE TABLE t (n INT); INSERT INTO t VALUES (2), (NULL)")
		want(t, a, "1")
		want(t, b, "2", "NULL")
		if a.Driver() != e.driver {
			t.Errorf("the driver is %q, want %q", a.Driver(), e.driver)
		}
	})
}

func TestRestartLosesRows(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		s := e.private(t)
		addr := s.Addr()
		s.Exec(t, "CREATE TABLE t (n INT); INSERT INTO t VALUES (1)")
		s.Restart()
		want(t, s, "1")
		s.Exec(t, "INSERT INTO t VALUES (2)")
		s.Kill()
		s.Kill() // twice is once
		if err := s.DB(t).PingContext(t.Context()); err == nil {
			t.Error("a server that was killed answers")
		}
		s.Restart()
		want(t, s, "1", "2")
		if s.Addr() != addr {
			t.Errorf("the address went from %s to %s", addr, s.Addr())
		}
	})
}

func TestFrozenServerAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		s := e.private(t)
		db := s.DB(t)
		s.Exec(t, "CREATE TABLE t (n INT)")
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := db.ExecContext(ctx, "INSERT INTO t VALUES (1)"); err == nil {
			t.Error("a frozen server answered")
		}
		s.Continue()
		s.Exec(t, "INSERT INTO t VALUES (2)")
		s.Pause() // the clean-up must end it all the same
	})
}

// want fails the test unless the table t holds the numbers.
func want(t *testing.T, s *storetest.Server, numbers ...string) {
	t.Helper()
	var got []string
	for _, row := range s.Query(t, "SELECT n FROM t ORDER BY n IS NULL, n") {
		got = append(got, row...)
	}
	if diff := cmp.Diff(numbers, got); diff != "" {
		t.Errorf("the table holds (-want +got):\n%s", diff)
	}
}
