package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// configMap is a volume as the kubelet's atomic writer keeps it: the files are
// links through ..data into a folder with a time as its name. An update makes
// another folder, turns ..data by renaming a link over it, and removes the old.
type configMap struct {
	dir  string
	turn int
}

func (m *configMap) put(t *testing.T, files map[string]string) {
	t.Helper()
	old, _ := os.Readlink(filepath.Join(m.dir, "..data"))
	m.turn++
	stamp := fmt.Sprintf("..2026_11_30_12_00_0%d.123456789", m.turn)
	must(t, os.Mkdir(filepath.Join(m.dir, stamp), 0o755))
	for name, content := range files {
		write(t, filepath.Join(m.dir, stamp, name), content)
	}
	must(t, os.Symlink(stamp, filepath.Join(m.dir, "..data_tmp")))
	must(t, os.Rename(filepath.Join(m.dir, "..data_tmp"), filepath.Join(m.dir, "..data")))
	for name := range files {
		if link := filepath.Join(m.dir, name); old == "" {
			must(t, os.Symlink(filepath.Join("..data", name), link))
		}
	}
	if old != "" {
		must(t, os.RemoveAll(filepath.Join(m.dir, old)))
	}
}

func TestConfigMapIsSwapped(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		m := configMap{dir: dir}
		file := filepath.Join(dir, "rushgate.yaml")
		m.put(t, map[string]string{"rushgate.yaml": rate(1)})
		f := follow(file)
		for qps := 2; qps <= 4; qps++ {
			m.put(t, map[string]string{"rushgate.yaml": rate(qps)})
			f.becomes(t, float64(qps))
		}
	})
}

// The list stands in another volume than the configuration.
func TestConfigMapOfAListIsSwapped(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		m := configMap{dir: t.TempDir()}
		m.put(t, map[string]string{"list": "user a\n"})
		file := filepath.Join(dir, "rushgate.yaml")
		write(t, file, "blacklist: {file: "+filepath.Join(m.dir, "list")+"}\n")
		f := follow(file)
		before := f.Current()
		m.put(t, map[string]string{"list": "user a\nuser b\n"})
		o := f.next(t)
		if o.Err != nil || !o.Changed || o.Hash != before.Hash || f.Current().Digest == before.Digest {
			t.Errorf("outcome %+v, digest %s after %s", o, f.Current().Digest, before.Digest)
		}
	})
}
