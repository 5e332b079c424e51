package store

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// migrateTries bounds how often a migration is begun anew where no lock keeps
// processes that start together apart: one that lost the race finds the work done.
const migrateTries = 6

// migrate brings the schema up to date, on a pool that is gone afterwards.
func (s *Store) migrate(ctx context.Context) error {
	db, err := s.db.pool(migrator, 1)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, migrateTime)
	defer cancel()
	for i := 1; ; i++ {
		err = s.up(ctx, db)
		if err == nil || s.d.locker != nil || i == migrateTries {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond << i):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Store) up(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations/"+s.d.folder)
	if err != nil {
		return err
	}
	var opts []goose.ProviderOption
	if s.d.locker != nil {
		l, err := s.d.locker()
		if err != nil {
			return err
		}
		opts = append(opts, goose.WithSessionLocker(l))
	}
	p, err := goose.NewProvider(s.d.goose, db, files, opts...)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}
