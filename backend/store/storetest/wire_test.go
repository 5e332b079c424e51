package storetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"rushgate/backend/store/storetest"
)

// through opens a pool of connections through a new wire, with a table t.
func through(t *testing.T, e engine) (*storetest.Server, *storetest.Wire, *sql.DB) {
	t.Helper()
	s := e.shared(t)
	s.Exec(t, "CREATE TABLE t (n INT)")
	w := storetest.NewWire(t, s)
	return s, w, open(t, e, w)
}

func open(t *testing.T, e engine, w *storetest.Wire) *sql.DB {
	t.Helper()
	db, err := sql.Open(map[string]string{"mysql": "mysql", "postgres": "pgx"}[e.driver], w.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// insert writes a number in a transaction, and returns the error of its commit. It
// calls before ahead of the statement, which speaks of a commit and is none.
func insert(t *testing.T, db *sql.DB, n int, before func()) error {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	before()
	if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d) /* COMMIT */", n)); err != nil {
		t.Fatal(err)
	}
	return tx.Commit()
}

func TestLostCommitTakesMoreThanItsAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		s, w, db := through(t, e)
		if err := insert(t, db, 1, w.LoseCommit); err == nil {
			t.Error("the answer to the commit came")
		}
		want(t, s, "1")
		if n := w.Lost(); n != 1 {
			t.Errorf("%d answers lost, want 1", n)
		}
		passed := w.Passed("VALUES (2)")
		if err := insert(t, db, 2, func() {}); err != nil {
			t.Errorf("the next commit: %v", err)
		}
		want(t, s, "1", "2")
		select {
		case <-passed:
		default:
			t.Error("a statement passed and nobody was told")
		}
	})
}

func TestCommitThatWasCutArrives(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		s, w, db := through(t, e)
		if err := insert(t, db, 1, w.LoseBeforeCommit); err == nil {
			t.Error("the answer to the commit came")
		}
		want(t, s)
		if n := w.Lost(); n != 1 {
			t.Errorf("%d commits lost, want 1", n)
		}
		if err := insert(t, db, 2, func() {}); err != nil {
			t.Errorf("the next commit: %v", err)
		}
		want(t, s, "2")
	})
}

func TestLostReplyLosesItsStatement(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		s, w, db := through(t, e)
		conn, err := db.Conn(t.Context()) // a pool would look first whether the connection is alive
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		w.LoseReplies(true)
		if _, err := conn.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err == nil {
			t.Error("the answer came")
		}
		w.LoseReplies(false)
		want(t, s, "1")
		if err := db.PingContext(t.Context()); err != nil {
			t.Errorf("when replies come again: %v", err)
		}
	})
}

func TestBrokenWireGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		_, w, db := through(t, e)
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		w.Refuse(true)
		if err := conn.PingContext(t.Context()); err != nil {
			t.Errorf("a connection that was there before: %v", err)
		}
		if err := open(t, e, w).PingContext(t.Context()); err == nil {
			t.Error("a new connection was let in")
		}
		w.Refuse(false)
		w.Break()
		if _, err := conn.ExecContext(t.Context(), "SELECT 1"); err == nil {
			t.Error("a connection outlived the break")
		}
		if err := open(t, e, w).PingContext(t.Context()); err != nil {
			t.Errorf("a new connection: %v", err)
		}
	})
}

// A server that is gone is told at once, and back when it is.
func TestWireOutlivesItsServer(t *testing.T) {
	onEach(t, func(t *testing.T, e engine) {
		s := e.private(t)
		w := storetest.NewWire(t, s)
		db := open(t, e, w)
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		if err := db.PingContext(ctx); err == nil {
			t.Error("a server that was killed answers")
		}
		s.Restart()
		if err := db.PingContext(ctx); err != nil {
			t.Errorf("after the restart: %v", err)
		}
	})
}
