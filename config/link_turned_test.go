package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// turn makes link lead to target, in one step.
func turn(t *testing.T, link, target string) {
	t.Helper()
	must(t, os.Symlink(target, link+".new"))
	must(t, os.Rename(link+".new", link))
}

func TestLinkToTheFileIsTurned(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		elsewhere := t.TempDir()
		a, b := filepath.Join(dir, "a.yaml"), filepath.Join(elsewhere, "b.yaml")
		write(t, a, rate(1))
		write(t, b, rate(2))
		file := filepath.Join(dir, "rushgate.yaml")
		turn(t, file, "a.yaml")
		f := follow(file)
		turn(t, file, b)
		f.becomes(t, 2)
		write(t, b, rate(3)) // in a folder that was not on the way before
		f.becomes(t, 3)
		turn(t, file, "a.yaml")
		f.becomes(t, 1)
	})
}

// A file is written again between the reload that led to its folder and the watch
// on that. The observer stands in that gap.
func TestFileChangesBeforeItsFolderIsWatched(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	file, a, b := filepath.Join(dir, "rushgate.yaml"), filepath.Join(dir, "a.yaml"), filepath.Join(elsewhere, "b.yaml")
	write(t, a, rate(1))
	write(t, b, rate(2))
	turn(t, file, "a.yaml")
	f := follow(t, Options{File: file}, WatchOptions{Poll: time.Hour}, func(w *Watcher) {
		tell, first := w.o.Observe, true
		w.o.Observe = func(o Outcome) {
			if first {
				first = false
				write(t, b, rate(3))
			}
			tell(o)
		}
	})
	turn(t, file, b)
	f.becomes(t, 3)
}

// Releases stand side by side, and one link says which of them holds.
func TestLinkToTheFolderIsTurned(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		for i, release := range []string{"1", "2"} {
			must(t, os.MkdirAll(filepath.Join(dir, "releases", release), 0o755))
			write(t, filepath.Join(dir, "releases", release, "rushgate.yaml"), rate(i+1))
		}
		turn(t, filepath.Join(dir, "current"), filepath.Join("releases", "1"))
		f := follow(filepath.Join(dir, "current", "rushgate.yaml"))
		turn(t, filepath.Join(dir, "current"), filepath.Join("releases", "2"))
		f.becomes(t, 2)
	})
}

func TestTrail(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	must(t, os.MkdirAll(in("x", "y"), 0o755))
	write(t, in("x", "y", "file"), "")
	must(t, os.Symlink("../x/./y", in("x", "up")))
	must(t, os.Symlink(in("x", "up", "file"), in("link")))
	must(t, os.Symlink("loop", in("loop")))
	for _, test := range []struct {
		name string
		want []string
	}{
		{"x/y/file", []string{in("x", "y", "file")}},
		{"x/up/file", []string{in("x", "up"), in("x", "y", "file")}},
		{"link", []string{in("link"), in("x", "up"), in("x", "y", "file")}},
		{"x/gone/file", []string{in("x", "gone")}},
	} {
		var got []string
		trail(in(test.name), func(folder, name string) {
			got = append(got, name)
			if filepath.Dir(name) != folder {
				t.Errorf("%s is not in %s", name, folder)
			}
		})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.name, diff)
		}
	}
	visits := 0
	trail(in("loop"), func(string, string) { visits++ })
	if visits == 0 || visits > mostLinks+1 {
		t.Errorf("%d visits on a link to itself", visits)
	}
}
