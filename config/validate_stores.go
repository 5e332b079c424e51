package config

import "fmt"

// maxCertificates bounds a file of certificates, in bytes: a system's whole
// bundle has about 200 KiB.
const maxCertificates = 1 << 20

// Bounds of the connections to a server. A database server takes a few hundred;
// a transaction needs one and the look-up of an unknown outcome another.
const (
	mostRedisConns = 10_000
	leastSQLConns  = 2
	mostSQLConns   = 1000
)

// redis checks where the admission filter lives.
func (v validator) redis() {
	r := v.c.Redis
	const later = "write single and the one address of the primary; this version doesn't follow it elsewhere"
	v.word("redis.mode", r.Mode, []string{"memory", "single"}, map[string]string{"sentinel": later, "cluster": later})
	v.positive("redis.timeout", r.Timeout)
	v.within("redis.conns", r.Conns, 1, mostRedisConns)
	switch r.Mode {
	case "memory":
		v.redisUnused(r)
	case "single":
		v.redisUsed(r)
	}
}

// redisUnused refuses what asks for a Redis that isn't there: who wrote it would
// believe that it is used.
func (v validator) redisUnused(r Redis) {
	standard := Default().Redis
	for _, key := range []struct {
		name, what string
		set        bool
	}{
		{"addrs", "the addresses", len(r.Addrs) > 0},
		{"username", "it", r.Username != ""},
		{"password_file", "it", r.PasswordFile != ""},
		{"ca_file", "it", r.CAFile != ""},
		{"timeout", "it", r.Timeout != standard.Timeout},
		{"conns", "it", r.Conns != standard.Conns},
	} {
		v.between(key.set, "redis."+key.name, "redis.mode",
			"is not used where redis.mode is memory", "delete "+key.what+", or set redis.mode: single")
	}
}

func (v validator) redisUsed(r Redis) {
	v.between(len(r.Addrs) == 0, "redis.addrs", "redis.mode",
		"names no address, and redis.mode is single", "name the one of the primary, e.g. 127.0.0.1:6379")
	v.between(len(r.Addrs) > 1, "redis.addrs", "redis.mode",
		fmt.Sprintf("names %d addresses, and redis.mode is single", len(r.Addrs)),
		"name one, of the primary; Sentinel and Cluster come in a later version")
	overTLS := true // unless an address that can be read says otherwise
	for i, text := range r.Addrs {
		_, secure, err := redisAddress(text)
		v.check(index("redis.addrs", i), err)
		overTLS = err != nil || secure
	}
	v.text("redis.username", r.Username)
	v.between(r.Username != "" && r.PasswordFile == "", "redis.username", "redis.password_file",
		"is not sent without a password", "name a file with the password in redis.password_file")
	if password, ok := v.secret("redis.password_file", r.PasswordFile); ok && len(password) == 0 {
		v.refuse("redis.password_file", quote(r.PasswordFile)+" is empty", "put the password in it, or delete the key")
	}
	v.between(r.CAFile != "" && !overTLS, "redis.ca_file", "redis.addrs",
		"is not used without TLS", "write rediss://host:port in redis.addrs, or delete the key")
	if pem, ok := v.readable("redis.ca_file", r.CAFile, maxCertificates); ok {
		if _, err := certificates(pem); err != nil {
			v.refuse("redis.ca_file", quote(r.CAFile)+" "+err.Error(), "name a file with -----BEGIN CERTIFICATE-----")
		}
	}
}

// sql checks where sales and orders are kept.
func (v validator) sql() {
	s := v.c.SQL
	switch s.Driver {
	case "mariadb":
		v.refuse("sql.driver", `"mariadb" goes by the name of its protocol`, "write mysql")
	case "postgresql":
		v.refuse("sql.driver", `"postgresql" goes by its short name`, "write postgres")
	default:
		v.word("sql.driver", s.Driver, []string{"sqlite", "mysql", "postgres"}, nil)
	}
	v.within("sql.conns", s.Conns, leastSQLConns, mostSQLConns)
	v.text("sql.dsn", s.DSN)
	if err := dsnError(s.Driver, s.DSN); err != nil && v.sound("sql.dsn", "sql.driver") {
		v.reportError(v.origins.locate("sql.dsn", "sql.driver"), "sql.dsn", err)
	}
}
