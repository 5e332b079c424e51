package config

import (
	"net/url"
	"regexp"
	"strings"
)

// How a data source name is written for each driver. Whether the driver takes
// the rest of it is seen when it connects; here it is about a name that is
// missing, or meant for another driver. No message quotes a part, since any part
// may hold a piece of the password where the form is wrong.
const (
	mysqlForm    = "user:password@tcp(host:3306)/database"
	postgresForm = "postgres://user:password@host:5432/database" //nolint:gosec // a form
)

var (
	schemeStart  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)
	keyValueFrom = regexp.MustCompile(`(?i)^\s*[a-z_]+\s*=`)
	libpqFrom    = regexp.MustCompile(`(?i)^\s*(host|hostaddr|port|user|password|dbname|sslmode|service)\s*=`)
	databaseKey  = regexp.MustCompile(`(?i)(?:^|\s)(?:dbname|database)\s*=\s*(?:'[^']+'|[^\s'])`)
)

// dsnError judges dsn for a driver; nil is right.
func dsnError(driver, dsn string) error {
	other := &valueError{"is the address of another kind of database than " + driver, ""}
	kind := dsnKind(dsn)
	switch driver {
	case "sqlite":
		other.hint = `write the name of a file, or "" for rushgate.db in data`
		if kind == "sqlite" || kind == "" {
			return sqliteError(dsn)
		}
		return other
	case "mysql":
		other.hint = "write " + mysqlForm
		if kind == "mysql" || kind == "" {
			return mysqlError(dsn)
		}
		return other
	case "postgres":
		other.hint = "write " + postgresForm
		if kind == "postgres" || kind == "" {
			return postgresError(dsn)
		}
		return other
	}
	return nil // the driver has a problem of its own
}

// dsnKind is the driver that a data source name is obviously written for, "" if
// it isn't obvious.
func dsnKind(dsn string) string {
	if m := schemeStart.FindStringSubmatch(dsn); m != nil {
		switch strings.ToLower(m[1]) {
		case "postgres", "postgresql":
			return "postgres"
		case "mysql", "mariadb":
			return "mysql"
		case "file", "sqlite", "sqlite3":
			return "sqlite"
		}
		return "another"
	}
	switch {
	case strings.HasPrefix(dsn, "file:"):
		return "sqlite"
	case strings.Contains(dsn, "@tcp(") || strings.Contains(dsn, "@unix("):
		return "mysql"
	case libpqFrom.MatchString(dsn):
		return "postgres"
	}
	return ""
}

func sqliteError(dsn string) error {
	switch {
	case strings.HasPrefix(dsn, "file:") || schemeStart.MatchString(dsn):
		return &valueError{"is a URL, and the name of a file is wanted", "write the name alone, e.g. ./data/rushgate.db, without options"}
	case dsn == ":memory:":
		return &valueError{"is no file, and orders must outlive the process", `write the name of a file, or "" for rushgate.db in data`}
	}
	return nil
}

// mysqlError takes user:password@tcp(host:3306)/database?options apart as the
// driver does: the last slash counts, and before it the last @.
func mysqlError(dsn string) error {
	slash := strings.LastIndexByte(dsn, '/')
	switch {
	case dsn == "":
		return &valueError{"is missing", "write " + mysqlForm}
	case schemeStart.MatchString(dsn):
		return &valueError{"is a URL, which the driver doesn't read", "write " + mysqlForm}
	case slash < 0:
		return &valueError{"names no database", "write " + mysqlForm}
	}
	network := dsn[strings.LastIndexByte(dsn[:slash], '@')+1 : slash]
	protocol, address, named := strings.Cut(network, "(")
	switch {
	case protocol != "tcp" && protocol != "unix" && network != "":
		return &valueError{"names its server without tcp( )", "write " + mysqlForm}
	case named && !strings.HasSuffix(address, ")"):
		return &valueError{"has more between the server and the database", "write " + mysqlForm + "; a / in an option is written %2F"}
	case strings.HasPrefix(dsn[slash+1:]+"?", "?"):
		return &valueError{"names no database", "write " + mysqlForm}
	}
	return nil
}

// postgresError takes a URL, or key=value pairs as libpq documents them
// (section "Connection Strings").
func postgresError(dsn string) error {
	switch {
	case dsn == "":
		return &valueError{"is missing", "write " + postgresForm}
	case schemeStart.MatchString(dsn):
		return postgresURLError(dsn)
	case !keyValueFrom.MatchString(dsn):
		return &valueError{"is neither a URL nor key=value pairs", "write " + postgresForm}
	case !databaseKey.MatchString(dsn):
		return &valueError{"names no database", "add dbname=…"}
	}
	return nil
}

// postgresURLError doesn't use url.Parse, which takes one host only where libpq
// takes several.
func postgresURLError(dsn string) error {
	_, rest, _ := strings.Cut(dsn, "://")
	rest, query, _ := strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(rest, "/")
	options, err := url.ParseQuery(query)
	switch {
	case err != nil || !escaped(authority) || !escaped(database) || strings.Count(authority, "@") > 1 || strings.ContainsAny(database, "@/"):
		return &valueError{"is not a URL that can be read", "write " + postgresForm + "; in a password @ is written %40, / %2F, ? %3F, # %23 and % %25"}
	case database == "" && !options.Has("dbname") && !options.Has("database"):
		return &valueError{"names no database", "write " + postgresForm}
	}
	return nil
}

// escaped says that each % begins an escape.
func escaped(text string) bool {
	_, err := url.PathUnescape(text)
	return err == nil && !strings.ContainsAny(text, "# ")
}
