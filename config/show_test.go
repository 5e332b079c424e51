package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func show(t *testing.T, l *Loaded, format string) string {
	t.Helper()
	var b strings.Builder
	if err := l.Show(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestShowNamesTheOriginOfEveryValue(t *testing.T) {
	l := mustLoad(t, `
blacklist:
  users:
    - "1001"
upstreams:
  shop: {servers: ["10.0.0.7:80"]}
routes:
  - path: /shop/
    upstream: shop
`, Options{Env: []string{"RUSHGATE_LOG_LEVEL=debug"}, Flags: map[string]string{"listen": "127.0.0.1:0"}})
	lines := map[string]bool{}
	for line := range strings.SplitSeq(show(t, l, "yaml"), "\n") {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{
		`listen: "127.0.0.1:0" # flag`,
		`prefix: "" # default`,
		`users: ["1001"] # rushgate.yaml:4`,
		`keep: 2h # default`,
		`header_bytes: 16KiB # default`,
		`servers: ["10.0.0.7:80"] # rushgate.yaml:6`,
		`- path: "/shop/" # rushgate.yaml:8`,
		`upstream: shop # rushgate.yaml:9`,
		`items: {} # default`,
		`level: debug # env RUSHGATE_LOG_LEVEL`,
	} {
		if !lines[want] {
			t.Errorf("no line %s in\n%s", want, show(t, l, "yaml"))
		}
	}
}

func TestShowJSON(t *testing.T) {
	l := mustLoad(t, "sql: {driver: postgres, dsn: \"postgres://db/x?password=s3cret\"}\nlock: {ttl: 20s}\n", Options{})
	var got struct {
		Hash, File string
		Values     []shownValue
	}
	if err := json.Unmarshal([]byte(show(t, l, "json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Hash != l.Hash || got.File != file {
		t.Errorf("hash %q and file %q, want %q and %q", got.Hash, got.File, l.Hash, file)
	}
	values := map[string]shownValue{}
	for _, v := range got.Values {
		values[v.Path] = v
	}
	for _, want := range []shownValue{
		{"sql.dsn", "postgres://db/x?password=*****", "rushgate.yaml:1"},
		{"lock.ttl", "20s", "rushgate.yaml:2"},
		{"limits.user.qps", 5.0, "default"},
	} {
		if diff := cmp.Diff(want, values[want.Path]); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestShowUnknownFormat(t *testing.T) {
	var b strings.Builder
	if err := mustLoad(t, "", Options{}).Show(&b, "toml"); err == nil || b.Len() > 0 {
		t.Errorf("error %v, written %q", err, b.String())
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestShowAndRenderReportTheWriter(t *testing.T) {
	l := mustLoad(t, "", Options{})
	for _, format := range []string{"yaml", "json"} {
		if err := l.Show(brokenWriter{}, format); !errors.Is(err, errBroken) {
			t.Errorf("%s: error is %v", format, err)
		}
	}
	if err := (&Error{Problems: []Problem{{Message: "x"}}}).Render(brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("Render: error is %v", err)
	}
}

// Whatever a text holds, Show quotes it so that it is read back.
func TestAnyTextSurvivesShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringOf(rapid.Rune()),
			rapid.SampledFrom([]string{"null", "~", "true", "no", "on", "1e3", "0x10", ".5", "-", "- a", "a: b", "# c", "a #b", "&a", "*a", "!a", "'", `"`, `\`, "<<", "---", "...", "|", ">", "%", "@", "`", "{", "[", ",", "?", " a", "a ", "=", "2001-01-01", "1:30"}),
		).Draw(t, "text")
		c := Default()
		c.Data, c.Blacklist.Users = text, []string{text, text}
		c.Limits.Items[text] = Rate{QPS: 1.5, Burst: 2}
		d := newDraft(file, []byte(effective(c)))
		if !d.decodeFile() || len(d.problems) > 0 {
			t.Fatalf("%v\nof\n%s", d.problems, d.source)
		}
		if diff := cmp.Diff(c, d.config); diff != "" {
			t.Errorf("-shown +read:\n%s", diff)
		}
	})
}

func TestPasswordsAreMasked(t *testing.T) {
	for dsn, want := range map[string]string{
		"":                       "",
		"./data/rushgate.db":     "./data/rushgate.db",
		"file:x.db?mode=rwc":     "file:x.db?mode=rwc",
		`C:\shop\rushgate.db`:    `C:\shop\rushgate.db`,
		"shop:s3cret@tcp(db)/x":  "shop:*****@tcp(db)/x",
		"shop:s3@c:r/et@tcp(d)/": "shop:*****@tcp(d)/",
		"postgres://shop:s3cret@db/x?sslmode=off": "postgres://shop:*****@db/x?sslmode=off",
		"postgres://shop:s/3@cret@db/x":           "postgres://shop:*****@db/x",
		"host=db user=shop password=s3cret":       "host=db user=shop password=*****",
		"host=db password='s 3cret' user=shop":    "host=db password=***** user=shop",
		"file:x.db?_auth_pass=s3cret&mode=rwc":    "file:x.db?_auth_pass=*****&mode=rwc",
		// A user may hold what looks like the end of one.
		"shop@db-1:s3cret@tcp(db)/x":         "shop@db-1:*****@tcp(db)/x",
		"shop/1:s3:cr@et@unix(/run/db)/x":    "shop/1:*****@unix(/run/db)/x",
		"postgres://sh@op:s3cret@db/x":       "postgres://sh@op:*****@db/x",
		"postgresql://:s3cret@db,db-2:1/x":   "postgresql://:*****@db,db-2:1/x",
		"postgres://db/x?sslpassword=s3cret": "postgres://db/x?sslpassword=*****",
		// No password: nothing to hide.
		"shop@tcp(db:3306)/x":      "shop@tcp(db:3306)/x",
		"@tcp(db:3306)/x?tls=true": "@tcp(db:3306)/x?tls=true",
		"postgres://shop@db:1/x":   "postgres://shop@db:1/x",
		// Pairs: spaces round =, quotes, backslashes, a quote that doesn't end.
		"host=db password = s3cret user=shop":       "host=db password = ***** user=shop",
		`host=db password='it\'s s3cret' user=shop`: "host=db password=***** user=shop",
		`host=db password=s3\ cret&;" user=shop`:    "host=db password=***** user=shop",
		"host=db password='s3 cret":                 "host=db password=*****",
		"host=db PASSWORD=s3cret user=shop":         "host=db PASSWORD=***** user=shop",
	} {
		if got := maskDSN(dsn); got != want {
			t.Errorf("%q is shown as %q, want %q", dsn, got, want)
		}
	}
}

func TestExcerptHidesPasswordsAndKeepsColumns(t *testing.T) {
	for line, want := range map[string]string{
		`sql: {dsn: "shop:s3cret@tcp(db)/x", driver: x}`: `sql: {dsn: "shop:******@tcp(db)/x", driver: x}`,
		`  dsn: postgres://shop:密码@db/x`:                 `  dsn: postgres://shop:**@db/x`,
		`"dsn" : 'a:b@c'`:                                `"dsn" : 'a:*@c'`,
		`  shop:s3cret@tcp(db)/x`:                        `  shop:******@tcp(db)/x`,
		`  dsn: host=db password = 's 3' port=1`:         `  dsn: host=db password = ************`,
		`    password='s 3' port=1`:                      `    password=************`,
		`addrs: ["redis://shop:s3cret@db:1"]`:            `addrs: ["redis:*************@db:1"]`,
		`users: ["a@example", b]`:                        `users: ["a@example", b]`,
	} {
		if got := maskLine(line); got != want {
			t.Errorf("%s\nis shown as\n%s, want\n%s", line, got, want)
		}
	}
}

// A file is somebody's text on somebody's terminal.
func TestExcerptMovesNoCursor(t *testing.T) {
	got := mustFail(t, "log: {level: \"\x1b[2J\"}\n", Options{})
	if strings.ContainsRune(got, '\x1b') {
		t.Errorf("an escape sequence is let through: %q", got)
	}
}
