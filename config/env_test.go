package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVariableOfEachShape(t *testing.T) {
	key := ticketKey(t)
	for _, test := range []struct {
		entry string
		want  func(*Config)
	}{
		{"RUSHGATE_LISTEN=127.0.0.1:0", func(c *Config) { c.Listen = "127.0.0.1:0" }},
		{"RUSHGATE_PREFIX=", func(c *Config) { c.Prefix = "" }},
		{"RUSHGATE_SERVER_FIELDS=50", func(c *Config) { c.Server.Fields = 50 }},
		{"RUSHGATE_SERVER_BODY_BYTES=2MiB", func(c *Config) { c.Server.BodyBytes = 2 << 20 }},
		{"RUSHGATE_LIMITS_USER_QPS=0.5", func(c *Config) { c.Limits.User.QPS = 0.5 }},
		{"RUSHGATE_LIMITS_IP_IPV6_PREFIX=56", func(c *Config) { c.Limits.IP.IPv6Prefix = 56 }},
		{"RUSHGATE_TICKETS_WINDOW=1m", func(c *Config) { c.Tickets.Window *= 2 }},
		{"RUSHGATE_IDENTITY_TRUSTED=10.0.0.0/8, ::1", func(c *Config) { c.Identity.Trusted = []string{"10.0.0.0/8", "::1"} }},
		{"RUSHGATE_IDENTITY_TRUSTED=", func(c *Config) { c.Identity.Trusted = []string{} }},
		{`RUSHGATE_LIMITS_ITEMS={"1001": {qps: 500, burst: 50}}`, func(c *Config) { c.Limits.Items["1001"] = Rate{QPS: 500, Burst: 50} }},
		{"RUSHGATE_TICKETS_KEYS=[{id: k1, secret_file: " + key + "}]", func(c *Config) { c.Tickets.Keys = []TicketKey{{ID: "k1", SecretFile: key}} }},
		// These end in _FILE and are keys of the schema all the same.
		{"RUSHGATE_ADMIN_TOKEN_FILE=" + key, func(c *Config) { c.Admin.TokenFile = key }},
		{"RUSHGATE_BLACKLIST_FILE=" + key, func(c *Config) { c.Blacklist.File = key }},
		// Others' variables are none of our business.
		{"PATH=/bin", func(*Config) {}},
		{"RUSHGATE", func(*Config) {}},
	} {
		t.Run(test.entry, func(t *testing.T) {
			want := Default()
			test.want(&want)
			if diff := cmp.Diff(want, mustLoad(t, "", Options{Env: []string{test.entry}}).Config); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestVariableMistakesNameTheVariable(t *testing.T) {
	for _, test := range []struct {
		entry, want string
	}{
		{"RUSHGATE_LISTNE=:1", "RUSHGATE_LISTNE: no such variable\nhint: did you mean RUSHGATE_LISTEN?\n"},
		{"RUSHGATE_PORT=8080", "RUSHGATE_PORT: no such variable\nhint: "},
		{"RUSHGATE_QQ_XX_FILE=x", "RUSHGATE_QQ_XX_FILE: no such variable\nhint: write RUSHGATE_ and the path of a key"},
		{"RUSHGATE_LISTEN=8080", "RUSHGATE_LISTEN: listen: \"8080\" is not host:port\nhint: write :8080"},
		{"RUSHGATE_LOCK_TTL=10", "RUSHGATE_LOCK_TTL: lock.ttl: \"10\" has no unit\nhint: write a unit"},
		{"RUSHGATE_LIMITS_USER_QPS=NaN", "RUSHGATE_LIMITS_USER_QPS: limits.user.qps: \"NaN\" is not a finite number\n"},
		{"RUSHGATE_LIMITS_USER_QPS=0x10", "RUSHGATE_LIMITS_USER_QPS: limits.user.qps: \"0x10\" is not a number\n"},
		{"RUSHGATE_LIMITS_USER_BURST=", "RUSHGATE_LIMITS_USER_BURST: limits.user.burst: \"\" is not a whole number\n"},
		{"RUSHGATE_UPSTREAMS_BACKEND_EMBEDDED=1", "RUSHGATE_UPSTREAMS_BACKEND_EMBEDDED: upstreams.backend.embedded: \"1\" is neither true nor false\n"},
		{"RUSHGATE_IDENTITY_TRUSTED=::1,,::2", "RUSHGATE_IDENTITY_TRUSTED: identity.trusted[1]: \"\" is neither an address nor a CIDR\n"},
		{"RUSHGATE_ROUTES=/shop/", "RUSHGATE_ROUTES: routes: is a single value, but a list is wanted\n"},
		{"RUSHGATE_ROUTES=", "RUSHGATE_ROUTES: routes: has no value\nhint: write YAML on one line"},
		{"RUSHGATE_ROUTES=[{path: /shop/, upstraem: shop}]", "RUSHGATE_ROUTES: routes[0].upstraem: unknown key\nhint: did you mean upstream?\n"},
		{"RUSHGATE_ROUTES=[{", "RUSHGATE_ROUTES: routes: is not YAML: "},
		{"RUSHGATE_LISTEN_FILE=/nowhere", "RUSHGATE_LISTEN_FILE: listen: the file that it names cannot be read: no such file or directory\n"},
		{"RUSHGATE_DATA=\xff", "RUSHGATE_DATA: data: is not UTF-8 text\n"},
	} {
		t.Run(test.entry, func(t *testing.T) {
			if got := mustFail(t, "", Options{Env: []string{test.entry}}); !strings.HasPrefix(got, test.want) {
				t.Errorf("got\n%s\nwant it to begin with\n%s", got, test.want)
			}
		})
	}
}

func TestSecretFromAFile(t *testing.T) {
	const dsn = "shop:s3cret@tcp(db)/rush"
	name := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(name, []byte(dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := mustLoad(t, "", Options{Env: []string{"RUSHGATE_SQL_DRIVER=mysql", "RUSHGATE_SQL_DSN_FILE=" + name}})
	if got := l.Config.SQL.DSN; got != dsn {
		t.Errorf("sql.dsn is %q, want %q", got, dsn)
	}
	if got := l.Origin("sql.dsn").String(); got != "env RUSHGATE_SQL_DSN_FILE" {
		t.Errorf("its origin is %q", got)
	}
	got := mustFail(t, "", Options{Env: []string{"RUSHGATE_SQL_DSN_FILE=" + name, "RUSHGATE_SQL_DSN=x"}})
	want := "RUSHGATE_SQL_DSN_FILE: sql.dsn: RUSHGATE_SQL_DSN is set too\nhint: keep one of the two\n"
	if got != want {
		t.Errorf("with both set: %q, want %q", got, want)
	}
}

// Who sets the secret itself where its file is wanted must not find it in a log.
func TestSecretInPlaceOfItsFileIsNotShown(t *testing.T) {
	if got := mustFail(t, "", Options{Env: []string{"RUSHGATE_SQL_DSN_FILE=shop:s3cret@tcp(db)/shop"}}); strings.Contains(got, "s3cret") {
		t.Errorf("the message shows it: %s", got)
	}
}

// Kubernetes sets these in every pod beside a Service called rushgate.
func TestServiceNamedRushgateInKubernetes(t *testing.T) {
	links := []string{
		"RUSHGATE_SERVICE_HOST=10.96.0.7",
		"RUSHGATE_SERVICE_PORT=8080",
		"RUSHGATE_SERVICE_PORT_HTTP=8080",
		"RUSHGATE_PORT=tcp://10.96.0.7:8080",
		"RUSHGATE_PORT_8080_TCP=tcp://10.96.0.7:8080",
		"RUSHGATE_PORT_8080_TCP_PROTO=tcp",
		"RUSHGATE_PORT_8080_TCP_PORT=8080",
		"RUSHGATE_PORT_8080_TCP_ADDR=10.96.0.7",
		"RUSHGATE_BACKEND_SERVICE_HOST=10.96.0.8",
	}
	if diff := cmp.Diff(Default(), mustLoad(t, "", Options{Env: links}).Config); diff != "" {
		t.Errorf("-default +loaded:\n%s", diff)
	}
}

// Two keys must not share a variable, and no key may hide another's _FILE.
func TestVariableNamesDoNotCollide(t *testing.T) {
	leaves := 0
	walk("", reflect.ValueOf(Default()), func(string, reflect.Value) { leaves++ })
	names := variables()
	if len(names) != leaves {
		t.Errorf("%d variables for %d keys", len(names), leaves)
	}
	for name := range names {
		if _, ok := names[name+envFile]; ok {
			t.Errorf("%s%s is a key and the file of %s", name, envFile, name)
		}
		if isServiceLink(name, "") || isServiceLink(name, "tcp://10.0.0.1:1") {
			t.Errorf("%s is taken for a service link", name)
		}
	}
}
