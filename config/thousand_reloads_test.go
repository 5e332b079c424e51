package config

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// Reloads that look at other folders each time keep neither goroutines nor open
// files nor watches.
func TestThousandReloadsLeakNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rushgate.yaml")
	lists := make([]string, 10)
	for i := range lists {
		folder := filepath.Join(dir, strconv.Itoa(i))
		must(t, os.Mkdir(folder, 0o755))
		lists[i] = filepath.Join(folder, "list")
		write(t, lists[i], "")
	}
	write(t, file, rate(1))
	f := follow(t, Options{File: file}, WatchOptions{Poll: time.Millisecond})
	reload := func(i int) {
		write(t, file, rate(1+i%7)+"blacklist: {file: "+lists[i%len(lists)]+"}\n")
		if _, err := f.Reload(t.Context(), "signal"); err != nil {
			t.Fatal(err)
		}
	}
	reload(0)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for i := range 1000 {
		reload(i)
	}
	if now := runtime.NumGoroutine(); now > goroutines+2 { // one of each may be on its way
		t.Errorf("%d goroutines after %d", now, goroutines)
	}
	if now := openFiles(t); now > files+2 {
		t.Errorf("%d open files after %d", now, files)
	}
}

func TestFolderThatIsNotNeededAnyMoreIsLetGo(t *testing.T) {
	n, err := newNotifier()
	must(t, err)
	defer n.close()
	folders := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for i := range 1000 {
		folder := folders[i%len(folders)]
		if turned := n.follow([]string{filepath.Join(folder, "list")}, slog.New(slog.DiscardHandler)); !turned {
			t.Fatalf("%s is not watched anew", folder)
		}
		if got := n.system.WatchList(); len(got) != 1 || got[0] != folder {
			t.Fatalf("watched are %v, want %s alone", got, folder)
		}
	}
}

// openFiles counts this process's; 0 where the system doesn't list them.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(list)
}
