package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func (v validator) limits() {
	l := v.c.Limits
	v.rate("limits.ip", l.IP.QPS, l.IP.Burst)
	v.within("limits.ip.ipv6_prefix", l.IP.IPv6Prefix, 1, 128)
	v.networks("limits.ip.exempt", l.IP.Exempt)
	v.rate("limits.user", l.User.QPS, l.User.Burst)
	v.rate("limits.item", l.Item.QPS, l.Item.Burst)
	v.scope("limits.item.scope", l.Item.Scope)
	v.items(l.Items)
	v.rate("limits.global", l.Global.QPS, l.Global.Burst)
	v.scope("limits.global.scope", l.Global.Scope)
	v.rate("limits.refuse", l.Refuse.QPS, l.Refuse.Burst)
	v.within("limits.keys", l.Keys, 1<<10, 1<<24)
}

func (v validator) items(items map[string]Rate) {
	for _, item := range slices.Sorted(maps.Keys(items)) {
		path := join("limits.items", item)
		if _, stated := v.origins[path+".qps"]; !stated {
			v.refuse(path+".qps", "is missing", "write the rate; 0 closes the item")
		}
		v.rate(path, items[item].QPS, items[item].Burst)
		v.id(path, item, 64) // last: a bad name is no reason to hide what is below
	}
}

// scope checks whether a rate holds on each gateway or over all together.
func (v validator) scope(path, got string) {
	v.word(path, got, []string{"node", "cluster"}, nil)
	v.between(got == "cluster" && v.c.Redis.Mode == "memory", path, "redis.mode",
		"cluster needs a Redis in which all gateways count, and redis.mode is memory",
		"set redis.mode: single and redis.addrs, or write node and divide the rate by the number of gateways")
}

// Bounds of a rate above zero: one in eleven days to one a nanosecond, so that
// the time between two tokens is a number of nanoseconds that fits.
const (
	leastQPS  = 1e-6
	mostQPS   = 1e9
	mostBurst = 1_000_000_000
)

// qps checks a rate, 0 being closed.
func (v validator) qps(path string, qps float64) {
	switch {
	case qps < 0:
		v.refuse(path, number(qps)+" is negative", "write a number of requests a second; 0 closes")
	case qps > mostQPS || qps > 0 && qps < leastQPS:
		v.refuse(path, number(qps)+" is out of range", fmt.Sprintf("write a number of requests a second from %s to %s; 0 closes", number(leastQPS), number(mostQPS)))
	}
}

// rate checks a token bucket at path.
func (v validator) rate(path string, qps float64, burst int) {
	v.qps(path+".qps", qps)
	switch {
	case burst < 0 || burst > mostBurst:
		v.refuse(path+".burst", fmt.Sprintf("%d is out of range", burst), fmt.Sprintf("write a whole number from 1 to %d", mostBurst))
	case burst == 0:
		v.between(qps > 0, path+".burst", path+".qps",
			"0 lets nothing through at "+number(qps)+" a second",
			fmt.Sprintf("write at least 1, e.g. %.0f, a tenth of a second of the rate; qps: 0 closes", math.Max(1, math.Ceil(qps/10))))
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (v validator) blacklist() {
	b := v.c.Blacklist
	for i, user := range b.Users {
		if user == "" || strings.ContainsFunc(user, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			v.refuse(index("blacklist.users", i), quote(user)+" is not a user id", "write the id as it stands in X-User-Id, without spaces")
		}
	}
	v.networks("blacklist.ips", b.IPs)
	_, _ = v.readable("blacklist.file", b.File, maxBlacklist) // its lines are judged where they are read
}

// maxBlacklist bounds the file that names who is refused, in bytes: about three
// million addresses.
const maxBlacklist = 64 << 20

func (v validator) breaker() {
	b := v.c.Breaker
	v.positive("breaker.window", b.Window)
	v.within("breaker.min_requests", b.MinRequests, 1, 1_000_000)
	if r := b.FailureRatio; !(r > 0 && r <= 1) {
		v.refuse("breaker.failure_ratio", number(r)+" is not a ratio", "write a number above 0 and up to 1, e.g. 0.5")
	}
	v.positive("breaker.slow_call", b.SlowCall)
	timeout := v.c.Upstreams[backendName].Timeout
	v.between(b.SlowCall >= timeout, "breaker.slow_call", backendTimeout,
		b.SlowCall.String()+" is not shorter than "+v.named(backendTimeout, timeout),
		"leave time for the DB path after a call that was given up, e.g. slow_call 200ms and timeout 3s")
	v.positive("breaker.open_for", b.OpenFor)
	v.qps("breaker.db_path.qps", b.DBPath.QPS)
	v.within("breaker.db_path.concurrency", b.DBPath.Concurrency, 1, mostConcurrency)
}

// mostConcurrency is far more than a database takes at a time.
const mostConcurrency = 1 << 16
