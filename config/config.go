// Package config is the one schema that both programs read: types, defaults,
// strict loading, validation that names file, line and field, and the origin
// of every effective value.
//
// The rules, in order: a flag wins over a RUSHGATE_* variable, a variable over
// the file, the file over the defaults. A key that the schema does not know is
// an error, never ignored. A value that cannot be honoured is refused with what
// to write instead.
package config

import "time"

// Config is everything that a gateway or a backend can be told. The zero value
// is not meaningful; start from [Default].
type Config struct {
	Listen         string              `yaml:"listen"`          // public listener of the gateway, host:port; port 0 picks one
	Backend        Backend             `yaml:"backend"`         // the backend program
	Prefix         string              `yaml:"prefix"`          // put before Rushgate's own paths, e.g. "/rush"; "" for none
	Data           string              `yaml:"data"`            // folder of the embedded database
	Admin          Admin               `yaml:"admin"`           // admin listener of the gateway
	Server         Server              `yaml:"server"`          // bounds of the public listener
	TrustedProxies []TrustedProxy      `yaml:"trusted_proxies"` // whose X-Forwarded-For is believed
	Identity       Identity            `yaml:"identity"`        // who a buyer is
	Redis          Redis               `yaml:"redis"`           // the admission filter
	SQL            SQL                 `yaml:"sql"`             // the truth
	Tickets        Tickets             `yaml:"tickets"`         // signatures between gateway and backend
	Upstreams      map[string]Upstream `yaml:"upstreams"`       // "backend" is Rushgate's own; others are targets of routes
	Routes         []Route             `yaml:"routes"`          // what else is proxied; the longest prefix wins
	Limits         Limits              `yaml:"limits"`
	Blacklist      Blacklist           `yaml:"blacklist"`
	Breaker        Breaker             `yaml:"breaker"`
	Lock           Lock                `yaml:"lock"`
	Sales          Sales               `yaml:"sales"`
	Orders         Orders              `yaml:"orders"`
	Log            Log                 `yaml:"log"`
}

// Backend holds the listeners of the backend program.
type Backend struct {
	Listen string `yaml:"listen"` // wire contract of backend/api
	Admin  string `yaml:"admin"`  // /livez /readyz /metrics
}

// Admin is the gateway's admin listener.
type Admin struct {
	Listen    string `yaml:"listen"`
	TokenFile string `yaml:"token_file"` // bearer token; needed where the listener is not on loopback
}

// Server bounds what one client connection may take.
type Server struct {
	Read        Duration `yaml:"read"`         // whole request, head and body
	Write       Duration `yaml:"write"`        // whole answer
	Idle        Duration `yaml:"idle"`         // between two requests
	HeaderBytes Size     `yaml:"header_bytes"` // request line and fields
	Fields      int      `yaml:"fields"`       // number of header fields
	BodyBytes   Size     `yaml:"body_bytes"`   // request body
}

// TrustedProxy is a peer whose X-Forwarded-For is believed.
type TrustedProxy struct {
	CIDR string `yaml:"cidr"`
	Hops int    `yaml:"hops"` // the client is the Hops-th entry from the right; 1 where this peer is the only proxy
}

// Identity says how a buyer is known.
type Identity struct {
	Mode    string   `yaml:"mode"`    // "header": X-User-Id from Trusted peers
	Trusted []string `yaml:"trusted"` // CIDRs or addresses
}

// Redis says where the admission filter lives.
type Redis struct {
	Mode         string   `yaml:"mode"`          // "memory": inside the one process; "single": in one primary, for many
	Addrs        []string `yaml:"addrs"`         // host:port, redis://host:port or, with TLS, rediss://host:port
	Username     string   `yaml:"username"`      // ACL user; "" for the default one
	PasswordFile string   `yaml:"password_file"` // "": none is sent
	CAFile       string   `yaml:"ca_file"`       // PEM, for rediss; "": the system's certificates
	Timeout      Duration `yaml:"timeout"`       // of a dial, and of a call without a sooner deadline
	Conns        int      `yaml:"conns"`         // connections at most, of each use (admission, limits, locks)
}

// SQL says where orders are kept.
type SQL struct {
	Driver string `yaml:"driver"` // "sqlite", "mysql" (MariaDB too) or "postgres"
	DSN    string `yaml:"dsn"`    // sqlite: a file, "" for rushgate.db in Data; else the driver's own form
	Conns  int    `yaml:"conns"`  // connections to a database server at most; unused with sqlite
}

// Tickets are the signed notes that hand an admitted request to the backend.
type Tickets struct {
	Keys   []TicketKey `yaml:"keys"`   // the first signs, all verify; none: a random key, for the embedded backend only
	Window Duration    `yaml:"window"` // longest life of a ticket
}

// TicketKey is one signing key, read from a file.
type TicketKey struct {
	ID         string `yaml:"id"`
	SecretFile string `yaml:"secret_file"`
}

// Upstream is a group of servers.
type Upstream struct {
	Embedded bool     `yaml:"embedded"` // the backend inside this process; for "backend" only
	Servers  []string `yaml:"servers"`  // host:port, http
	Timeout  Duration `yaml:"timeout"`  // from the first byte sent to the last received
}

// Route sends a path prefix to an upstream.
type Route struct {
	Path     string `yaml:"path"`
	Upstream string `yaml:"upstream"`
}

// Rate is a token bucket: QPS tokens a second, at most Burst saved up. QPS 0
// means closed: everything is refused.
type Rate struct {
	QPS   float64 `yaml:"qps"`
	Burst int     `yaml:"burst"`
}

// Limits are the rates of each scope.
type Limits struct {
	IP     IPRate          `yaml:"ip"`
	User   Rate            `yaml:"user"`
	Item   ScopedRate      `yaml:"item"`
	Items  map[string]Rate `yaml:"items"` // overrides by item id
	Global ScopedRate      `yaml:"global"`
	Refuse Rate            `yaml:"refuse"` // refusals of repeats that are made final in SQL
	Keys   int             `yaml:"keys"`   // buckets kept for each of ip and user; the least used is forgotten beyond that
}

// IPRate is a rate by client address.
type IPRate struct {
	QPS        float64  `yaml:"qps"`
	Burst      int      `yaml:"burst"`
	IPv6Prefix int      `yaml:"ipv6_prefix"` // IPv6 clients share a bucket by this prefix length
	Exempt     []string `yaml:"exempt"`      // CIDRs or addresses that are not limited
}

// ScopedRate is a rate that holds on each node, or over all of them together.
type ScopedRate struct {
	QPS   float64 `yaml:"qps"`
	Burst int     `yaml:"burst"`
	Scope string  `yaml:"scope"` // "node" or, with Redis, "cluster"
}

// Blacklist names who is refused.
type Blacklist struct {
	Users []string `yaml:"users"`
	IPs   []string `yaml:"ips"`  // addresses and CIDRs
	File  string   `yaml:"file"` // one user, address or CIDR a line: "user NAME", "ip CIDR"; # starts a comment
}

// Breaker stands round the admission filter.
type Breaker struct {
	Window       Duration `yaml:"window"`
	MinRequests  int      `yaml:"min_requests"`
	FailureRatio float64  `yaml:"failure_ratio"`
	SlowCall     Duration `yaml:"slow_call"` // a call that takes longer is given up and counts as failed
	OpenFor      Duration `yaml:"open_for"`
	DBPath       DBPath   `yaml:"db_path"`
}

// DBPath bounds the sale on SQL alone to what one hot row can take.
type DBPath struct {
	QPS         float64 `yaml:"qps"`
	Concurrency int     `yaml:"concurrency"`
}

// Lock is the lock around a placement.
type Lock struct {
	Mode    string   `yaml:"mode"` // "auto": on Redis where there is one; "none": never
	TTL     Duration `yaml:"ttl"`
	Wait    Duration `yaml:"wait"` // for the lock, and for a reseed that is running
	MaxHold Duration `yaml:"max_hold"`
}

// Sales bounds the life of what the filter keeps.
type Sales struct {
	PreheatLead Duration `yaml:"preheat_lead"` // a sale is seeded this long before it opens
	Keep        Duration `yaml:"keep"`         // the filter forgets a sale this long after its end
	RepairAfter Duration `yaml:"repair_after"` // quiet this long: the filter is compared with SQL
}

// Orders bounds placing and paying.
type Orders struct {
	PayWithin       Duration `yaml:"pay_within"`       // an unpaid order expires
	ItemConcurrency int      `yaml:"item_concurrency"` // purchases of one item that a backend takes at a time
}

// Log says what is written to standard error.
type Log struct {
	Level  string `yaml:"level"`  // debug info warn error
	Format string `yaml:"format"` // text json
}

// Duration is a time span written as Go does: "200ms", "15m".
type Duration time.Duration

// Size is a number of bytes, written "16KiB", "1MiB" or as a plain number.
type Size int64

// Default returns the values that hold where nothing else is said: a whole
// shop in one process, in memory and SQLite. Durations are generous to clients
// and shorter than what browsers and proxies wait.
func Default() Config {
	const ms, second, minute = Duration(time.Millisecond), Duration(time.Second), Duration(time.Minute)
	return Config{
		Listen:         ":8080",
		Backend:        Backend{Listen: "127.0.0.1:8081", Admin: "127.0.0.1:9091"},
		Data:           "./data",
		Admin:          Admin{Listen: "127.0.0.1:9090"},
		Server:         Server{Read: 5 * second, Write: 10 * second, Idle: 60 * second, HeaderBytes: 16 << 10, Fields: 100, BodyBytes: 1 << 20},
		TrustedProxies: []TrustedProxy{},
		Identity:       Identity{Mode: "header", Trusted: []string{"127.0.0.0/8", "::1"}},
		Redis:          Redis{Mode: "memory", Addrs: []string{}, Timeout: 1 * second, Conns: 32},
		SQL:            SQL{Driver: "sqlite", Conns: 16},
		Tickets:        Tickets{Keys: []TicketKey{}, Window: 30 * second},
		Upstreams:      map[string]Upstream{"backend": {Embedded: true, Servers: []string{}, Timeout: 3 * second}},
		Routes:         []Route{},
		Limits: Limits{
			IP:     IPRate{QPS: 50, Burst: 100, IPv6Prefix: 64, Exempt: []string{"127.0.0.0/8", "::1"}},
			User:   Rate{QPS: 5, Burst: 5},
			Item:   ScopedRate{QPS: 2000, Burst: 200, Scope: "node"},
			Items:  map[string]Rate{},
			Global: ScopedRate{QPS: 5000, Burst: 500, Scope: "node"},
			Refuse: Rate{QPS: 200, Burst: 50},
			Keys:   1 << 18,
		},
		Blacklist: Blacklist{Users: []string{}, IPs: []string{}},
		Breaker: Breaker{
			Window: 10 * second, MinRequests: 20, FailureRatio: 0.5, SlowCall: 200 * ms, OpenFor: 5 * second,
			DBPath: DBPath{QPS: 200, Concurrency: 32},
		},
		Lock:   Lock{Mode: "auto", TTL: 10 * second, Wait: 500 * ms, MaxHold: 5 * minute},
		Sales:  Sales{PreheatLead: 10 * minute, Keep: 120 * minute, RepairAfter: 4 * second},
		Orders: Orders{PayWithin: 15 * minute, ItemConcurrency: 256},
		Log:    Log{Level: "info", Format: "text"},
	}
}
