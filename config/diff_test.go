package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	many := func(n int) string {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf("u%d", i))
		}
		return "blacklist: {users: [" + strings.Join(words, ", ") + "]}\n"
	}
	for _, test := range []struct {
		name, old, new string
		want           []string
	}{
		{"nothing", "log: {level: warn}\n", "# as before\nlog: {level: \"warn\"}\n", nil},
		{"values in the order of the schema", "", "log: {level: warn}\nlisten: \":81\"\nlock: {ttl: 20s}\nserver: {body_bytes: 2MiB}\n", []string{
			`listen: ":8080" → ":81"`, "server.body_bytes: 1MiB → 2MiB", "lock.ttl: 10s → 20s", "log.level: info → warn",
		}},
		{"an empty text is a value", "", "prefix: /rush\n", []string{`prefix: "" → "/rush"`}},
		{"an item comes, another changes, a third goes",
			"limits: {items: {\"1\": {qps: 1, burst: 1}, \"3\": {qps: 3, burst: 3}}}\n",
			"limits: {items: {\"1\": {qps: 1.5, burst: 1}, \"2\": {qps: 2, burst: 2}}}\n", []string{
				"limits.items.1.qps: 1 → 1.5", "limits.items.2.qps: none → 2", "limits.items.2.burst: none → 2", "limits.items.3.qps: 3 → none", "limits.items.3.burst: 3 → none",
			}},
		{"a route comes",
			"upstreams: {shop: {servers: [\"s:1\"]}}\n",
			"upstreams: {shop: {servers: [\"s:1\", \"s:2\"]}}\nroutes: [{path: /shop/, upstream: shop}]\n", []string{
				`upstreams.shop.servers: ["s:1"] → ["s:1", "s:2"]`, `routes[0].path: none → "/shop/"`, "routes[0].upstream: none → shop",
			}},
		{"an upstream goes", "upstreams: {shop: {servers: [\"s:1\"], timeout: 1s}}\n", "", []string{
			"upstreams.shop.embedded: false → none", `upstreams.shop.servers: ["s:1"] → none`, "upstreams.shop.timeout: 1s → none",
		}},
		{"a list is emptied", "", "limits: {ip: {exempt: []}}\n", []string{`limits.ip.exempt: ["127.0.0.0/8", "::1"] → []`}},
		{"a long list", many(20), many(22) + "# u20, u21\n", []string{`blacklist.users: 20 entries → 22 entries: +"u20" +"u21"`}},
		{"a longer one", many(9), many(30), []string{
			`blacklist.users: 9 entries → 30 entries: +"u9" +"u10" +"u11" +"u12" +"u13" +"u14" +"u15" +"u16" +13 more`,
		}},
		{"a list in another order", "blacklist: {users: [a, b, c, d, e, f, g, h, i]}\n", "blacklist: {users: [i, b, c, d, e, f, g, h, a]}\n", []string{
			"blacklist.users: 9 entries → 9 entries in another order",
		}},
		{"a password alone",
			"sql: {driver: postgres, dsn: \"postgres://shop:s3cret@db/rush\"}\n",
			"sql: {driver: postgres, dsn: \"postgres://shop:an0ther@db/rush\"}\n", []string{
				`sql.dsn: "postgres://shop:*****@db/rush" → "postgres://shop:*****@db/rush" (changed)`,
			}},
		{"a long value", "", "data: " + strings.Repeat("d", 200) + "\n", []string{`data: "./data" → ` + strings.Repeat("d", mostShown) + "…"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, c := range Diff(mustLoad(t, test.old, Options{}), mustLoad(t, test.new, Options{})) {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDiffNamesTheOrigin(t *testing.T) {
	from := mustLoad(t, "log: {level: warn}\nlimits: {items: {\"1\": {qps: 1, burst: 1}}}\n", Options{})
	to := mustLoad(t, "limits:\n  items: {}\n", Options{Env: []string{"RUSHGATE_LOCK_TTL=20s"}})
	got := map[string]string{}
	for _, c := range Diff(from, to) {
		got[c.Path] = c.Origin.String()
	}
	want := map[string]string{
		"limits.items.1.qps": "rushgate.yaml:2", "limits.items.1.burst": "rushgate.yaml:2",
		"lock.ttl": "env RUSHGATE_LOCK_TTL", "log.level": "default",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Two configurations have one digest exactly if nothing differs, and what differs
// one way round differs the other way, at the same paths.
func TestDiffAgreesWithTheDigest(t *testing.T) {
	lines := []string{
		"log: {level: warn}", "lock: {ttl: 20s}", "blacklist: {users: [a, b]}", "prefix: /rush",
		"limits: {items: {\"1\": {qps: 1, burst: 1}}}", "upstreams: {shop: {servers: [\"s:1\"]}}", "trusted_proxies: [{cidr: 10.0.0.0/8, hops: 1}]",
	}
	draw := func(t *rapid.T, name string) *Loaded {
		some := rapid.SliceOfDistinct(rapid.SampledFrom(lines), rapid.ID[string]).Draw(t, name)
		l, err := load(Options{File: file}, []byte(strings.Join(some, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	paths := func(changes []Change) (list []string) {
		for _, c := range changes {
			list = append(list, c.Path)
		}
		return list
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		there, back := paths(Diff(a, b)), paths(Diff(b, a))
		if (len(there) == 0) != (a.Digest == b.Digest) {
			t.Errorf("digests %s and %s, and %v differ", a.Digest, b.Digest, there)
		}
		if !slices.Equal(there, back) {
			t.Errorf("there %v, back %v", there, back)
		}
	})
}
