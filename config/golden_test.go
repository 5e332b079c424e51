package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var writeGoldens = flag.Bool("write-goldens", false, "write testdata/config/bad/*.txt as they are now, and fail")

// fixtures makes a folder of testdata/config the working directory, as relative
// names in the fixtures expect it, and returns its configurations.
func fixtures(t *testing.T, folder string) []string {
	t.Helper()
	t.Chdir(filepath.Join("..", "testdata", "config", folder))
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s: %v", folder, err)
	}
	return files
}

// asError returns the *Error that every failure to load is.
func asError(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Problems) == 0 {
		t.Fatalf("error is %T, want *Error with a problem: %v", err, err)
	}
	return e
}

func render(t *testing.T, err error) string {
	t.Helper()
	var b strings.Builder
	if err := asError(t, err).Render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBadFileIsRefusedWithItsGolden(t *testing.T) {
	for _, file := range fixtures(t, "bad") {
		t.Run(strings.TrimSuffix(file, ".yaml"), func(t *testing.T) {
			l, err := Load(Options{File: file})
			if err == nil {
				t.Fatalf("loaded: %+v", l.Config)
			}
			got := render(t, err)
			if !strings.HasPrefix(got, file+":") || !strings.HasPrefix(err.Error(), file+":") {
				t.Errorf("the message does not begin with the file:\n%s", got)
			}
			for _, p := range asError(t, err).Problems {
				if p.Hint == "" {
					t.Errorf("no hint: %s", p)
				}
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".txt", got)
		})
	}
}

func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *writeGoldens {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("%s written: read it, then run without -write-goldens", golden)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("no golden: run with -write-goldens and read what it writes: %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestGoldenWithoutFixture(t *testing.T) {
	fixtures(t, "bad")
	goldens, err := filepath.Glob("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, golden := range goldens {
		if _, err := os.Stat(strings.TrimSuffix(golden, ".txt") + ".yaml"); err != nil {
			t.Errorf("%s belongs to no fixture: %v", golden, err)
		}
	}
}

// Every good file loads, and what Show writes loads as the same configuration.
func TestGoodFileLoadsAndSurvivesShow(t *testing.T) {
	for _, file := range fixtures(t, "good") {
		t.Run(strings.TrimSuffix(file, ".yaml"), func(t *testing.T) {
			l, err := Load(Options{File: file})
			if err != nil {
				t.Fatal(render(t, err))
			}
			shown := show(t, l, "yaml")
			again, err := load(Options{File: "shown.yaml"}, []byte(shown))
			if err != nil {
				t.Fatalf("%s\nof\n%s", render(t, err), shown)
			}
			want := l.Config
			want.SQL.DSN = maskDSN(want.SQL.DSN)
			if diff := cmp.Diff(want, again.Config); diff != "" {
				t.Errorf("-loaded +shown and loaded:\n%s", diff)
			}
			if want.SQL.DSN == l.Config.SQL.DSN && again.Hash != l.Hash {
				t.Errorf("hash %s of the shown, %s of the loaded", again.Hash, l.Hash)
			}
		})
	}
}

func TestExampleIsTheDefaults(t *testing.T) {
	l, err := Load(Options{File: "example.yaml"})
	if err != nil {
		t.Fatal(render(t, err))
	}
	if diff := cmp.Diff(Default(), l.Config); diff != "" {
		t.Errorf("-default +example:\n%s", diff)
	}
}

func TestExampleNamesEveryKey(t *testing.T) {
	l, err := Load(Options{File: "example.yaml"})
	if err != nil {
		t.Fatal(render(t, err))
	}
	walk("", reflect.ValueOf(Default()), func(path string, _ reflect.Value) {
		if l.Origin(path).Source != FromFile {
			t.Errorf("%s is not in example.yaml", path)
		}
	})
	// Keys of entries of lists that are empty by default stand in comments.
	for _, entry := range []reflect.Type{reflect.TypeFor[TrustedProxy](), reflect.TypeFor[TicketKey](), reflect.TypeFor[Route](), reflect.TypeFor[Rate]()} {
		for _, key := range keys(entry) {
			if !strings.Contains(string(l.Source), key+": ") {
				t.Errorf("key %s of %s is not in example.yaml", key, entry)
			}
		}
	}
}
