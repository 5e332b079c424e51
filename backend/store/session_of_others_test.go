package store_test

import (
	"net/url"
	"strings"
	"testing"

	"rushgate/backend/store/storetest"
)

// Whatever a data source name asks for, a writing session has the bounds and the
// meaning that the statements count on.
func TestSessionOfAnothersMaking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start    func(testing.TB) *storetest.Server
		asks     string
		settings map[string]string // by the expression that reads them
	}{
		"mariadb": {
			start: storetest.MariaDB,
			asks: "?" + url.Values{
				"autocommit": {"0"}, "sql_mode": {"''"}, "tx_isolation": {"'SERIALIZABLE'"}, "time_zone": {"'+08:00'"},
				"innodb_lock_wait_timeout": {"50"}, "check_constraint_checks": {"0"}, "charset": {"latin1"},
			}.Encode(),
			settings: map[string]string{
				"@@autocommit": "1", "@@tx_isolation": "READ-COMMITTED", "@@time_zone": "+00:00",
				"@@sql_mode": "ONLY_FULL_GROUP_BY,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", "@@check_constraint_checks": "1",
				"@@innodb_lock_wait_timeout": "2", "@@max_statement_time": "4", "@@idle_transaction_timeout": "10",
				"@@character_set_client": "utf8mb4", "@@collation_connection": "utf8mb4_bin",
			},
		},
		"postgres": {
			start: storetest.PostgreSQL,
			asks: "&default_transaction_isolation=serializable&lock_timeout=0&synchronous_commit=off&client_encoding=LATIN1&options=" +
				strings.ReplaceAll(url.QueryEscape("-c statement_timeout=0 -c idle_in_transaction_session_timeout=0"), "+", "%20"),
			settings: map[string]string{
				"current_setting('default_transaction_isolation')": "read committed", "current_setting('lock_timeout')": "2s",
				"current_setting('statement_timeout')": "4s", "current_setting('idle_in_transaction_session_timeout')": "10s",
				"current_setting('synchronous_commit')": "on", "current_setting('client_encoding')": "UTF8",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := c.start(t)
			db := &storetest.Database{Driver: server.Driver(), DSN: server.DSN() + c.asks}
			pool := db.Open(t, nil).Writing()
			for setting, want := range c.settings {
				var got string
				if err := pool.QueryRowContext(t.Context(), "SELECT "+setting).Scan(&got); err != nil || got != want {
					t.Errorf("%s is %q, %v; want %q", setting, got, err, want)
				}
			}
		})
	}
}
