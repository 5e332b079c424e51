package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzLoad feeds any bytes as a file: no panic, and an error is always an *Error
// that names the file and can be rendered. What loads survives Show.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"example.yaml", "../testdata/config/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds at %s: %v", pattern, err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(source)
		}
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		l, err := load(Options{File: file}, source)
		if err != nil {
			checkError(t, err)
			return
		}
		again, err := load(Options{File: file}, []byte(show(t, l, "yaml")))
		if err != nil {
			t.Fatalf("shown, it does not load: %v", err)
		}
		l.Config.SQL.DSN = maskDSN(l.Config.SQL.DSN)
		if diff := cmp.Diff(l.Config, again.Config); diff != "" {
			t.Errorf("-loaded +shown and loaded:\n%s", diff)
		}
	})
}

func checkError(t *testing.T, err error) {
	t.Helper()
	for _, p := range asError(t, err).Problems {
		if !strings.HasPrefix(p.String(), file+":") {
			t.Errorf("the file is not named: %s", p)
		}
	}
	render(t, err)
}
