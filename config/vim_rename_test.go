package config

import (
	"os"
	"path/filepath"
	"testing"
)

// Vim with 'backup' and 'backupcopy=no' tries out the folder with a file called
// 4913, renames the old file away and writes a new one under its name.
func TestSavedByVim(t *testing.T) {
	bothWays(t, func(t *testing.T, dir string, follow func(string) *followed) {
		file := filepath.Join(dir, "rushgate.yaml")
		write(t, file, rate(1))
		f := follow(file)
		for qps := 2; qps <= 4; qps++ {
			write(t, filepath.Join(dir, "4913"), "")
			must(t, os.Remove(filepath.Join(dir, "4913")))
			must(t, os.Rename(file, file+"~"))
			write(t, file, rate(qps))
			must(t, os.Chmod(file, 0o640))
			f.becomes(t, float64(qps))
		}
	})
}
