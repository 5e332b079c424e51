package store

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

func TestDataSourceNameThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		opt  Options
		want string
	}{
		"no such driver":     {Options{Driver: "mariadb"}, "use sqlite, mysql or postgres"},
		"one connection":     {Options{Driver: "mysql", DSN: "u:s3cret@tcp(127.0.0.1:1)/rush", Conns: 1}, "2 or more"},
		"no database":        {Options{Driver: "mysql", DSN: "u:s3cret@tcp(127.0.0.1:1)/"}, "name the database"},
		"no slash":           {Options{Driver: "mysql", DSN: "u:s3cret@tcp(127.0.0.1:1)"}, "sql.dsn"},
		"clear password":     {Options{Driver: "mysql", DSN: "u:s3cret@tcp(127.0.0.1:1)/rush?allowCleartextPasswords=true"}, "tls=true"},
		"nobody there":       {Options{Driver: "mysql", DSN: "u:s3cret@tcp(127.0.0.1:1)/rush"}, "database 127.0.0.1:1/rush"},
		"a word":             {Options{Driver: "postgres", DSN: "postgres://u:s3cret@127.0.0.1:many/rush"}, "sql.dsn"},
		"nobody there, too":  {Options{Driver: "postgres", DSN: "postgres://u:s3cret@127.0.0.1:1/rush"}, "database 127.0.0.1:1/rush"},
		"nobody, with pairs": {Options{Driver: "postgres", DSN: "host=127.0.0.1 port=1 user=u password=s3cret dbname=rush"}, "database 127.0.0.1:1/rush"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), c.opt)
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v; want %q, and no password", err, c.want)
			}
		})
	}
}

// What a data source name says of a statement's meaning is overridden; what it says
// of time is kept.
func TestDataSourceNameThatChangesStatements(t *testing.T) {
	c, err := mysql.ParseDSN("u@tcp(127.0.0.1:1)/rush?clientFoundRows=false&multiStatements=true&allowAllFiles=true&charset=gbk&collation=gbk_chinese_ci&loc=Asia%2FShanghai&readTimeout=7s")
	if err != nil {
		t.Fatal(err)
	}
	if err := harden(c); err != nil {
		t.Fatal(err)
	}
	c = withTimes(c, writer)
	if !c.ClientFoundRows || !c.InterpolateParams || c.MultiStatements || c.AllowAllFiles || !c.RejectReadOnly || c.Loc != time.UTC || c.Collation != "utf8mb4_bin" {
		t.Errorf("the connection is %+v", c)
	}
	if c.ReadTimeout != 7*time.Second || c.Timeout != connectTime || c.WriteTimeout == 0 {
		t.Errorf("the times are %v, %v, %v", c.Timeout, c.ReadTimeout, c.WriteTimeout)
	}
	if dsn := c.FormatDSN(); !strings.Contains(dsn, "charset=utf8mb4&") {
		t.Errorf("the character set is not utf8mb4: %s", dsn)
	}
	p, err := pgx.ParseConfig("postgres://u@127.0.0.1:1/rush?synchronous_commit=off&default_transaction_isolation=serializable&statement_timeout=0&application_name=shop")
	if err != nil {
		t.Fatal(err)
	}
	settle(p.RuntimeParams, writer)
	for key, want := range map[string]string{
		"synchronous_commit": "", "default_transaction_isolation": "read committed", "statement_timeout": "4000",
		"lock_timeout": "2000", "idle_in_transaction_session_timeout": "10000", "application_name": "shop",
	} {
		if got := p.RuntimeParams[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1": "SELECT 1", "?": "$1", "a = ? AND b IN (?,?)": "a = $1 AND b IN ($2,$3)",
		tuples(11, "?"): "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11",
	} {
		for range 2 { // once anew, once remembered
			if got := numbered(query); got != want {
				t.Errorf("%s became %s, want %s", query, got, want)
			}
		}
	}
}

// Writers and readers together open no more connections than were allowed.
func TestPoolsStayWithinTheirBound(t *testing.T) {
	for conns := 2; conns <= 40; conns++ {
		db, err := connectMySQL("u@tcp(127.0.0.1:1)/rush")
		if err != nil {
			t.Fatal(err)
		}
		w, r := split(conns)
		write, err := db.pool(writer, w)
		if err != nil {
			t.Fatal(err)
		}
		read, err := db.pool(reader, r)
		if err != nil {
			t.Fatal(err)
		}
		if sum := write.Stats().MaxOpenConnections + read.Stats().MaxOpenConnections; sum != conns || w < 1 || r < 1 {
			t.Errorf("of %d connections %d write and %d read", conns, w, r)
		}
		_, _ = write.Close(), read.Close()
	}
}
