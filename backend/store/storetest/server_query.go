package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
)

// DB opens a pool of connections to the database that is closed with the test.
func (s *Server) DB(t testing.TB) *sql.DB {
	t.Helper()
	db, err := s.open(s.DSN())
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements, parted by semicolons, over a connection of its own, as
// somebody else would: to damage what a test then expects to be found.
func (s *Server) Exec(t testing.TB, statements string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.execute(ctx, s.DSN(), statements); err != nil {
		t.Fatalf("storetest: %v", err)
	}
}

// Query returns all rows of a query over a connection of its own. A NULL reads
// "NULL".
func (s *Server) Query(t testing.TB, query string) [][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rows, err := s.query(ctx, query)
	if err != nil {
		t.Fatalf("storetest: %s: %v", query, err)
	}
	return rows
}

// administer runs statements one by one, as one who may make databases.
func (s *Server) administer(statements []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // a clean-up comes after the test's own
	defer cancel()
	return s.execute(ctx, s.run.engine.dsn(s.Addr(), s.run.engine.admin), statements...)
}

func (s *Server) execute(ctx context.Context, dsn string, statements ...string) error {
	dsn, err := s.run.engine.severalStatements(dsn)
	if err != nil {
		return err
	}
	db, err := s.open(dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // what a statement sets holds for the next
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (s *Server) query(ctx context.Context, query string) ([][]string, error) {
	db, err := s.open(s.DSN())
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]string
	for rows.Next() {
		row, err := scan(rows, len(columns))
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// scan reads a row of n columns.
func scan(rows *sql.Rows, n int) ([]string, error) {
	cells, into := make([]sql.NullString, n), make([]any, n)
	for i := range cells {
		into[i] = &cells[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	row := make([]string, n)
	for i, cell := range cells {
		if row[i] = cell.String; !cell.Valid {
			row[i] = "NULL"
		}
	}
	return row, nil
}

func (s *Server) open(dsn string) (*sql.DB, error) { return sql.Open(s.run.engine.sqlDriver, dsn) }
