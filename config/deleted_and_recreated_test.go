package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The gap of mv over a file on some file systems, and of vim: no error is told
// within the grace.
func TestFileIsMissingForAMoment(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{Poll: debounce / 2}, func(t *testing.T, file string, f *followed) {
		for qps := 2; qps <= 4; qps++ {
			must(t, os.Remove(file))
			pass(grace - 2*debounce)
			write(t, file, rate(qps))
			pass(time.Second)
			if all := f.told(); len(all) != 1 || all[0].Err != nil || !all[0].Changed {
				t.Fatalf("told %+v", all)
			}
			f.becomes(t, float64(qps))
		}
	})
}

// The same for a file that comes back as it was: there is nothing to tell.
func TestFileComesBackAsItWas(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{Poll: debounce / 2}, func(t *testing.T, file string, f *followed) {
		must(t, os.Rename(file, file+"~"))
		pass(grace / 2)
		must(t, os.Rename(file+"~", file))
		pass(time.Minute)
		if all := f.told(); len(all) != 0 {
			t.Errorf("told %+v", all)
		}
	})
}

func TestFileIsDeletedAndRecreated(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{}, func(t *testing.T, file string, f *followed) {
		must(t, os.Remove(file))
		pass(time.Hour)
		all := f.told()
		if len(all) != 1 {
			t.Fatalf("told %+v, want one error", all)
		}
		if bad, ok := errors.AsType[*Error](all[0].Err); !ok || bad.Problems[0].Origin.Name != file {
			t.Errorf("error %v does not name the file", all[0].Err)
		}
		write(t, file, rate(2))
		pass(time.Minute)
		if all := f.told(); len(all) != 1 || all[0].Err != nil || !all[0].Changed {
			t.Errorf("told %+v, want one success", all)
		}
		f.becomes(t, 2)
	})
}

func TestFolderIsDeletedAndRecreated(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		here, file := filepath.Join(dir, "here"), filepath.Join(dir, "here", "rushgate.yaml")
		must(t, os.Mkdir(here, 0o755))
		write(t, file, rate(1))
		f := follow(file)
		must(t, os.RemoveAll(here))
		if o := f.next(t); o.Err == nil {
			t.Fatalf("told %+v, want an error", o)
		}
		must(t, os.Mkdir(here, 0o755))
		write(t, file, rate(2))
		f.becomes(t, 2)
	})
}
