package storetest

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"rushgate/backend/store"
)

// Engine is one kind of database that a store runs on.
type Engine struct {
	Name string // sqlite, mariadb or postgres
	// Open returns a store on a new, empty database that is gone after the test.
	Open func(testing.TB) *store.Store
	// Database makes such a database for a test that opens it several times, like
	// so many processes.
	Database func(testing.TB) *Database
}

// Database is where a store finds its tables.
type Database struct {
	Driver, DSN string
	exec        func(t testing.TB, statements string)
}

// Engines lists every engine: one suite holds for all. The servers are shared, so
// a package that uses them runs its tests by way of Main.
func Engines(testing.TB) []Engine {
	server := func(start func(testing.TB) *Server) func(testing.TB) *Database {
		return func(t testing.TB) *Database {
			t.Helper()
			s := start(t)
			return &Database{Driver: s.Driver(), DSN: s.DSN(), exec: s.Exec}
		}
	}
	return []Engine{
		engineOf("sqlite", func(t testing.TB) *Database {
			t.Helper()
			file := filepath.Join(t.TempDir(), "rushgate.db")
			return &Database{Driver: "sqlite", DSN: file, exec: func(t testing.TB, statements string) {
				t.Helper()
				Exec(t, file, statements)
			}}
		}),
		engineOf("mariadb", server(MariaDB)),
		engineOf("postgres", server(PostgreSQL)),
	}
}

func engineOf(name string, database func(testing.TB) *Database) Engine {
	return Engine{Name: name, Database: database, Open: func(t testing.TB) *store.Store {
		t.Helper()
		return database(t).Open(t, nil)
	}}
}

// Open opens the database as one more process does. now is the clock of an embedded
// one and of order numbers; nil for the real one.
func (d *Database) Open(t testing.TB, now func() time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Driver: d.Driver, DSN: d.DSN, Now: now})
	if err != nil {
		t.Fatalf("opening a %s database: %v", d.Driver, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Pool opens connections past the store, which are closed with the test.
func (d *Database) Pool(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(map[string]string{"sqlite": "sqlite", "mysql": "mysql", "postgres": "pgx"}[d.Driver], d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements, parted by semicolons, past the store.
func (d *Database) Exec(t testing.TB, statements string) {
	t.Helper()
	d.exec(t, statements)
}
