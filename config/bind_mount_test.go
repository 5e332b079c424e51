package config

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A file that is mounted into a container by itself is written through another
// folder, so no event comes from the one that is watched.
func TestFileIsMountedAlone(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	source, file := filepath.Join(outside, "rushgate.yaml"), filepath.Join(inside, "rushgate.yaml")
	write(t, source, rate(1))
	mount(t, source, file)
	f := follow(t, Options{File: file}, WatchOptions{Poll: 10 * time.Millisecond})
	for qps := 2; qps <= 4; qps++ {
		write(t, source, rate(qps))
		f.becomes(t, float64(qps))
	}
}

// mount mounts source over file. Where this process may not, a second name of
// the same file stands in: its writes too come from another folder.
func mount(t *testing.T, source, file string) {
	t.Helper()
	write(t, file, "")
	if err := exec.CommandContext(t.Context(), "mount", "--bind", source, file).Run(); err != nil {
		t.Logf("not mounted, but linked: %v", err)
		must(t, os.Remove(file))
		must(t, os.Link(source, file))
		return
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "umount", file).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

// What the looks are for: the folder that is watched is told nothing.
func TestEventsMissAMountedFile(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	source, file := filepath.Join(outside, "rushgate.yaml"), filepath.Join(inside, "rushgate.yaml")
	write(t, source, rate(1))
	mount(t, source, file)
	n, err := newNotifier()
	must(t, err)
	defer n.close()
	n.follow([]string{file}, slog.New(slog.DiscardHandler))
	write(t, source, rate(2))
	write(t, filepath.Join(inside, "later"), "") // events keep their order
	for {
		select {
		case e := <-n.events():
			if filepath.Base(e.Name) == "later" {
				return
			}
			if n.concerns(e) {
				t.Errorf("%v: are the looks still needed?", e)
			}
		case <-time.After(patience):
			t.Fatal("no event at all")
		}
	}
}
