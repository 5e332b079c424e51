package storetest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rushgate/backend/store/storetest"
)

// inner makes the test binary run one test as another process would.
const inner = "STORETEST_INNER"

// bound is how long a test waits for anything, at most.
const bound = time.Minute

// However a test binary ends, its servers end, the frozen ones with their children
// too, and their data goes.
func TestServersAreLeftBehind(t *testing.T) {
	if how := os.Getenv(inner); how != "" {
		serve(t, how)
		return
	}
	t.Parallel()
	for _, how := range []string{"killed", "passes"} {
		t.Run(how, func(t *testing.T) {
			tmp := tempDir(t)
			output := startInner(t, how, tmp)
			all, err := io.ReadAll(output) // until nobody is left who could write
			if err != nil {
				t.Fatalf("%v; it said:\n%s", err, all)
			}
			if files, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(files) > 0 {
				t.Errorf("left behind: %v, %v; it said:\n%s", files, err, all)
			}
			if links, err := filepath.Glob("/proc/[0-9]*/cwd"); err == nil {
				for _, link := range links {
					if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir, tmp) {
						t.Errorf("%s still leads to %s", link, dir)
					}
				}
			}
		})
	}
}

// serve has servers, and ends as it is told.
func serve(t *testing.T, how string) {
	t.Helper()
	maria, postgres := storetest.MariaDB, storetest.PostgreSQL
	if how == "killed" {
		maria, postgres = storetest.StartMariaDB, storetest.StartPostgreSQL
	}
	for _, s := range []*storetest.Server{maria(t), postgres(t)} {
		s.Exec(t, "CREATE TABLE t (n INT)")
		if how == "killed" {
			s.Pause()
		}
	}
	fmt.Println("\nserving")
	if how == "killed" {
		select {}
	}
}

// startInner runs serve in a process whose temporary folder is tmp, and returns
// what it says after it has its servers. One that is to be killed is.
func startInner(t *testing.T, how, tmp string) io.Reader {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	cmd := exec.Command(os.Args[0], "-test.run=^TestServersAreLeftBehind$", "-test.timeout="+bound.String())
	cmd.Env = append(os.Environ(), inner+"="+how, "TMPDIR="+tmp)
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	if err := r.SetReadDeadline(time.Now().Add(2 * bound)); err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(r)
	for said := ""; ; {
		line, err := output.ReadString('\n')
		said += line
		if line == "serving\n" {
			break
		}
		if err != nil {
			t.Fatalf("it didn't come to serve: %v; it said:\n%s", err, said)
		}
	}
	if files, err := filepath.Glob(filepath.Join(tmp, "*", "*")); err != nil || len(files) < 2 {
		t.Fatalf("two servers have the folders %v, %v", files, err)
	}
	if how == "killed" {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	return output
}

// tempDir is a folder that another user's server can reach.
func tempDir(t *testing.T) string {
	t.Helper()
	tmp := t.TempDir()
	for _, dir := range []string{tmp, filepath.Dir(tmp)} {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	return tmp
}
