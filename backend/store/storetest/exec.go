package storetest

import (
	"database/sql"
	"testing"
)

// Exec runs statements on a database file over a connection of its own, as
// somebody else would: to damage what a test then expects to be found.
func Exec(t testing.TB, file, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}
