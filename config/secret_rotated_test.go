package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What stands in a file that a value names is no part of the value; a change of it
// is one all the same, and never shown.
func TestSecretIsRotated(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	contents := map[string]string{
		"key": strings.Repeat("k", minSecret), "old": strings.Repeat("o", minSecret), "token": "t0ken", "list": "user a\n", "password": "s3cret",
	}
	for name, content := range contents {
		write(t, in(name), content)
	}
	write(t, in("rushgate.yaml"), `
tickets: {keys: [{id: k1, secret_file: `+in("key")+`}, {id: k0, secret_file: `+in("old")+`}]}
admin: {token_file: `+in("token")+`}
blacklist: {file: `+in("list")+`}
redis: {mode: single, addrs: ["127.0.0.1:6379"], password_file: `+in("password")+`}
`)
	for _, test := range []struct{ file, path string }{
		{"key", "tickets.keys[0].secret_file"},
		{"old", "tickets.keys[1].secret_file"},
		{"token", "admin.token_file"},
		{"list", "blacklist.file"},
		{"password", "redis.password_file"},
	} {
		t.Run(test.path, func(t *testing.T) {
			live := func(path string) bool { return path != "redis.password_file" }
			f := follow(t, Options{File: in("rushgate.yaml")}, WatchOptions{Poll: time.Hour, Live: live})
			before := f.Current()
			write(t, in(test.file), contents[test.file]+"x")
			if o := f.next(t); o.Err != nil || !o.Changed || o.Hash != before.Hash {
				t.Fatalf("told %+v", o)
			}
			now := f.Current()
			want := []Change{{Path: test.path, Old: `"` + in(test.file) + `"`, New: "(contents changed)", Origin: now.Origin(test.path)}}
			if diff := cmp.Diff(want, Diff(before, now)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if now.Digest == before.Digest {
				t.Error("the digest is the same")
			}
			if pending := len(f.Pending()) > 0; pending != (test.file == "password") {
				t.Errorf("pending are %v", f.Pending())
			}
		})
	}
}

// The file of a variable holds a value, so its change is one of the value.
func TestFileOfAVariableChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "dsn")
	write(t, name, "shop:s3cret@tcp(db)/rush")
	f := follow(t, Options{Env: []string{"RUSHGATE_SQL_DRIVER=mysql", "RUSHGATE_SQL_DSN_FILE=" + name}}, WatchOptions{Poll: time.Hour})
	write(t, name, "shop:an0ther@tcp(db)/rush")
	if o := f.next(t); o.Err != nil || !o.Changed {
		t.Fatalf("told %+v", o)
	}
	want := [][]Change{{{
		Path: "sql.dsn", Old: `"shop:*****@tcp(db)/rush"`, New: `"shop:*****@tcp(db)/rush" (changed)`,
		Origin: Origin{Source: FromEnv, Name: "RUSHGATE_SQL_DSN_FILE"},
	}}}
	if diff := cmp.Diff(want, f.applied); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := f.log.count("s3cret") + f.log.count("an0ther"); n > 0 {
		t.Errorf("the password is in the log:\n%s", f.log.text.String())
	}
}

func TestFilesOfAConfiguration(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("key"), strings.Repeat("k", minSecret))
	write(t, in("level"), "debug\n")
	write(t, in("rushgate.yaml"), "tickets: {keys: [{id: k1, secret_file: "+in("key")+"}, {id: k2, secret_file: "+in("key")+"}]}\nadmin: {token_file: "+in("key")+"}\n")
	l, err := Load(Options{File: in("rushgate.yaml"), Env: []string{"RUSHGATE_LOG_LEVEL_FILE=" + in("level")}})
	if err != nil {
		t.Fatal(render(t, err))
	}
	if diff := cmp.Diff([]string{in("rushgate.yaml"), in("level"), in("key")}, l.Files()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := mustLoad(t, "", Options{}).Files(); len(got) != 0 {
		t.Errorf("defaults come from %v", got)
	}
}

// Comments, order and layers make no difference, contents do.
func TestDigestFollowsContents(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	digestOf := func(source, content string) string {
		write(t, list, content)
		return mustLoad(t, source, Options{Env: []string{"RUSHGATE_BLACKLIST_FILE=" + list}}).Digest
	}
	a := digestOf("log: {level: warn}\n", "user a\n")
	if b := digestOf("# other words\nlog:\n  level: warn\n", "user a\n"); a != b {
		t.Error("a comment changes the digest")
	}
	if b := digestOf("log: {level: warn}\n", "user b\n"); a == b {
		t.Error("the contents of the list don't change it")
	}
	if b := digestOf("log: {level: info}\n", "user a\n"); a == b {
		t.Error("a value doesn't change it")
	}
}
