package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCopiedAndMovedOver(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		file := filepath.Join(dir, "rushgate.yaml")
		write(t, file, rate(1))
		f := follow(file)
		for qps := 2; qps <= 4; qps++ {
			write(t, file+".new", rate(qps))
			must(t, os.Rename(file+".new", file))
			f.becomes(t, float64(qps))
		}
	})
}

// The folder that the file is in is exchanged for another.
func TestFolderIsExchanged(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		here, file := filepath.Join(dir, "here"), filepath.Join(dir, "here", "rushgate.yaml")
		must(t, os.Mkdir(here, 0o755))
		write(t, file, rate(1))
		f := follow(file)
		there := filepath.Join(dir, "there")
		must(t, os.Mkdir(there, 0o755))
		write(t, filepath.Join(there, "rushgate.yaml"), rate(2))
		must(t, os.Rename(here, filepath.Join(dir, "old")))
		must(t, os.Rename(there, here))
		f.becomes(t, 2)
		write(t, file, rate(3))
		f.becomes(t, 3)
	})
}
