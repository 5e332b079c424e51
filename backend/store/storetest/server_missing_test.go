package storetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A test whose server is not installed fails, whether it wants a database or a
// server, and says what to install.
func TestServerMissing(t *testing.T) {
	const inner = "STORETEST_MISSING"
	ask := map[string]func(*engine){
		"shared":  func(e *engine) { e.database(t) },
		"private": func(e *engine) { e.private(t) },
	}
	if how := os.Getenv(inner); how != "" {
		ask[how](&engine{driver: "none", initialise: func(string) (*exec.Cmd, error) {
			_, err := find("no-such-program", "its-package", "/nowhere")
			return nil, err
		}})
		return
	}
	t.Parallel()
	for how := range ask {
		cmd := exec.Command(os.Args[0], "-test.run=^TestServerMissing$", "-test.v")
		cmd.Env = append(os.Environ(), inner+"="+how)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestServerMissing") || !strings.Contains(string(out), "apt-get install its-package") {
			t.Errorf("%s: %v, want a failure that says what to install; it said:\n%s", how, err, out)
		}
	}
}
