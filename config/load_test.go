package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const file = "rushgate.yaml" // the name that sources in these tests go by

func mustLoad(t *testing.T, source string, o Options) *Loaded {
	t.Helper()
	if source != "" {
		o.File = file
	}
	l, err := load(o, []byte(source))
	if err != nil {
		t.Fatal(render(t, err))
	}
	return l
}

func mustFail(t *testing.T, source string, o Options) string {
	t.Helper()
	if source != "" {
		o.File = file
	}
	l, err := load(o, []byte(source))
	if err == nil {
		t.Fatalf("loaded: %+v", l.Config)
	}
	return render(t, err)
}

func ticketKey(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ticket.key")
	if err := os.WriteFile(name, []byte(strings.Repeat("k", minSecret)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDefaultsAreValid(t *testing.T) {
	l, err := Load(Options{})
	if err != nil {
		t.Fatal(render(t, err))
	}
	if diff := cmp.Diff(Default(), l.Config); diff != "" {
		t.Errorf("-default +loaded:\n%s", diff)
	}
	if l.Source != nil || l.File != "" {
		t.Errorf("file %q and source %q, without a file", l.File, l.Source)
	}
}

func TestHigherLayerWins(t *testing.T) {
	const source = "limits:\n  user: {qps: 1, burst: 1}\n"
	env := []string{"RUSHGATE_LIMITS_USER_QPS=2"}
	flags := map[string]string{"limits.user.qps": "3"}
	const path = "limits.user.qps"
	for _, test := range []struct {
		name, source, origin string
		o                    Options
		want                 float64
	}{
		{"default", "", "default", Options{}, 5},
		{"file", source, "rushgate.yaml:2", Options{}, 1},
		{"variable over file", source, "env RUSHGATE_LIMITS_USER_QPS", Options{Env: env}, 2},
		{"flag over variable", source, "flag", Options{Env: env, Flags: flags}, 3},
		{"flag over file", source, "flag", Options{Flags: flags}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := mustLoad(t, test.source, test.o)
			if got := l.Config.Limits.User.QPS; got != test.want {
				t.Errorf("%s is %v, want %v", path, got, test.want)
			}
			if got := l.Origin(path).String(); got != test.origin {
				t.Errorf("its origin is %q, want %q", got, test.origin)
			}
		})
	}
}

func TestGroupsMergeAndListsReplace(t *testing.T) {
	l := mustLoad(t, `
limits:
  ip: {exempt: [10.0.0.0/8]}
upstreams:
  backend: {timeout: 2s}
  shop: {servers: ["10.0.0.7:80"]}
`, Options{})
	want := Default()
	want.Limits.IP.Exempt = []string{"10.0.0.0/8"}
	want.Upstreams = map[string]Upstream{
		"backend": {Embedded: true, Servers: []string{}, Timeout: 2 * want.Tickets.Window / 30},
		"shop":    {Servers: []string{"10.0.0.7:80"}, Timeout: want.Upstreams["backend"].Timeout},
	}
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A list from a variable must leave no trace of the file's: neither values nor
// the lines of its entries.
func TestReplacedListKeepsNothing(t *testing.T) {
	l := mustLoad(t, "blacklist:\n  users:\n    - a\n    - b\n", Options{Env: []string{"RUSHGATE_BLACKLIST_USERS=c"}})
	if diff := cmp.Diff([]string{"c"}, l.Config.Blacklist.Users); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := l.Origin("blacklist.users[1]"); got != (Origin{}) {
		t.Errorf("entry 1 is still at %v", got)
	}
}

func TestNamingServersSwitchesEmbeddedOff(t *testing.T) {
	key := ticketKey(t)
	keys := "tickets: {keys: [{id: k1, secret_file: " + key + "}]}\n"
	servers := []string{"10.0.0.5:8081"}
	for _, test := range []struct {
		name, source string
		env          []string
		want         Upstream
		origin       string // of upstreams.backend.embedded
	}{
		{"servers in the file", keys + `upstreams: {backend: {servers: ["10.0.0.5:8081"]}}`, nil,
			Upstream{Servers: servers}, "rushgate.yaml:2"},
		{"servers in the file, embedded false", keys + `upstreams: {backend: {servers: ["10.0.0.5:8081"], embedded: false}}`, nil,
			Upstream{Servers: servers}, "rushgate.yaml:2"},
		{"servers in a variable, embedded true in the file", keys + `upstreams: {backend: {embedded: true}}`, []string{"RUSHGATE_UPSTREAMS_BACKEND_SERVERS=10.0.0.5:8081"},
			Upstream{Servers: servers}, "env RUSHGATE_UPSTREAMS_BACKEND_SERVERS"},
		{"embedded in a variable, servers in the file", `upstreams: {backend: {servers: ["10.0.0.5:8081"]}}`, []string{"RUSHGATE_UPSTREAMS_BACKEND_EMBEDDED=true"},
			Upstream{Embedded: true, Servers: []string{}}, "env RUSHGATE_UPSTREAMS_BACKEND_EMBEDDED"},
		{"no servers", `upstreams: {backend: {servers: []}}`, nil,
			Upstream{Embedded: true, Servers: []string{}}, "default"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := mustLoad(t, test.source, Options{Env: test.env})
			test.want.Timeout = Default().Upstreams["backend"].Timeout
			if diff := cmp.Diff(test.want, l.Config.Upstreams["backend"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := l.Origin("upstreams.backend.embedded").String(); got != test.origin {
				t.Errorf("the origin of embedded is %q, want %q", got, test.origin)
			}
		})
	}
}

func TestFlagsNameTheirSource(t *testing.T) {
	for _, test := range []struct {
		path, value, want string
	}{
		{"listen", "8080", "flag: listen: \"8080\" is not host:port\nhint: write :8080 for that port on every interface\n"},
		{"listne", ":1", "flag: listne: unknown key\nhint: did you mean listen?\n"},
		{"limits.ip.qps.x", "1", "flag: limits.ip.qps.x: unknown key\nhint: did you mean limits.ip.qps?\n"},
		{"limits", "5", "flag: limits: is a single value, but keys with values are wanted\nhint: write key: value\n"},
		{"data", "\xff", "flag: data: is not UTF-8 text\nhint: write it as UTF-8\n"},
		{"upstreams.shop.timeout", "1s", "flag: upstreams.shop.timeout: unknown key\nhint: write the path of a key, e.g. limits.user.qps\n"},
	} {
		t.Run(test.path, func(t *testing.T) {
			got := mustFail(t, "", Options{Flags: map[string]string{test.path: test.value}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFlagReachesAnEntryThatTheFileAdds(t *testing.T) {
	l := mustLoad(t, `upstreams: {shop: {servers: ["10.0.0.7:80"]}}`, Options{Flags: map[string]string{"upstreams.shop.timeout": "7s"}})
	if got := l.Config.Upstreams["shop"].Timeout.String(); got != "7s" {
		t.Errorf("timeout is %s, want 7s", got)
	}
}

// A value that does not parse must not be judged again by the rules, and a rule
// about two keys must not blame the one that is right.
func TestOneMistakeIsToldOnce(t *testing.T) {
	got := mustFail(t, "upstreams: {backend: {timeout: 3 s}}\nsales: {repair_after: 1s}\n", Options{})
	if n := strings.Count(got, "hint:"); n != 1 {
		t.Errorf("%d problems, want 1:\n%s", n, got)
	}
}

// What is wrong in a group is told although the group has a problem of its own,
// unless the one follows from the other.
func TestMistakesBelowAMistake(t *testing.T) {
	for _, test := range []struct {
		source string
		want   []string
	}{
		{"limits: {ip: {qps: -1}}\nlimits: {}\n", []string{"limits.ip.qps", "limits"}},
		{"upstreams: {\"a b\": {servers: [x]}}\n", []string{`upstreams["a b"]`, `upstreams["a b"].servers[0]`}},
		{"limits: {items: {\"a b\": {qps: -1, burst: 1}}}\n", []string{`limits.items["a b"]`, `limits.items["a b"].qps`}},
		{"limits: {items: {\"1001\": 5}}\n", []string{"limits.items.1001"}},
		{"tickets: {keys: [k1]}\n", []string{"tickets.keys[0]"}},
		{"limits: {items: {null: {qps: 1, burst: 0}}}\n", []string{"limits.items.null.burst"}},
	} {
		_, err := load(Options{File: file}, []byte(test.source))
		problems := asError(t, err).Problems
		got := make([]string, len(problems))
		for i, p := range problems {
			got[i] = p.Path
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.source, diff)
		}
	}
}

func TestEveryLayersMistakesAreToldTogether(t *testing.T) {
	_, err := load(Options{
		File:  file,
		Env:   []string{"RUSHGATE_LOG_LEVEL=loud"},
		Flags: map[string]string{"listen": "x"},
	}, []byte("log: {format: xml}\n"))
	problems := asError(t, err).Problems
	got := make([]string, len(problems))
	for i, p := range problems {
		got[i] = p.Origin.String() + " " + p.Path
	}
	want := []string{"rushgate.yaml:1 log.format", "env RUSHGATE_LOG_LEVEL log.level", "flag listen"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := err.Error(); !strings.HasSuffix(got, "(and 2 more)") || strings.Contains(got, "\n") {
		t.Errorf("Error() is %q", got)
	}
}

func TestUnreadableFile(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"nowhere.yaml": "cannot be read: no such file or directory",
		t.TempDir():    "cannot be read: not a regular file",
		large:          "cannot be read: larger than 1048576 bytes",
	} {
		_, err := Load(Options{File: name})
		if got := render(t, err); !strings.HasPrefix(got, name+": "+want+"\n") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestHashFollowsValuesOnly(t *testing.T) {
	a := mustLoad(t, "log: {level: debug}\n", Options{}).Hash
	b := mustLoad(t, "# the same, said otherwise\nlog:\n  level: \"debug\"\n", Options{}).Hash
	c := mustLoad(t, "", Options{Env: []string{"RUSHGATE_LOG_LEVEL=debug"}}).Hash
	d := mustLoad(t, "log: {level: warn}\n", Options{}).Hash
	if a != b || a != c {
		t.Errorf("one configuration has the hashes %s, %s, %s", a, b, c)
	}
	if a == d {
		t.Error("two configurations have one hash")
	}
}

func TestReadSecretDropsOneLineEnd(t *testing.T) {
	for content, want := range map[string]string{"k": "k", "k\n": "k", "k\r\n": "k", "k\n\n": "k\n", "\tk": "\tk"} {
		name := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret(name)
		if err != nil || string(got) != want {
			t.Errorf("of %q: %q, %v, want %q", content, got, err, want)
		}
	}
	if _, err := ReadSecret("nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want it to wrap os.ErrNotExist", err)
	}
}
