package store

import "database/sql"

// Writing is the pool that writes.
func (s *Store) Writing() *sql.DB { return s.write }
