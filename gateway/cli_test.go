package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rushgate/config"
)

// runs executes a command line that ends by itself.
func runs(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	bad := filepath.Join("..", "testdata", "config", "bad")
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string // what must be in them
	}{
		{[]string{"check"}, config.ExitOK, "the defaults: good", ""},
		{[]string{"version"}, config.ExitOK, "rushgate gateway", ""},
		{[]string{"show"}, config.ExitOK, "repair_after: 4s", ""},
		{[]string{"show", "--listen", "127.0.0.1:1234"}, config.ExitOK, "127.0.0.1:1234", ""},
		{[]string{"show", "--format", "json"}, config.ExitOK, `"hash"`, ""},
		{[]string{"--help"}, config.ExitOK, "gateway [command]", ""},
		{[]string{"chekc"}, config.ExitUsage, "", `unknown command "chekc"`},
		{[]string{"check", "--nonsense"}, config.ExitUsage, "", "unknown flag"},
		{[]string{"check", "now"}, config.ExitUsage, "", "unknown command"},
		{[]string{"check", "--config", "nowhere.yaml"}, config.ExitConfig, "", "nowhere.yaml"},
		{[]string{"check", "--listen", "here"}, config.ExitConfig, "", "listen"},
		{[]string{"check", "--config", filepath.Join(bad, "key_unknown_top.yaml")}, config.ExitConfig, "", "key_unknown_top.yaml:"},
		{[]string{"--config", filepath.Join(bad, "key_unknown_top.yaml")}, config.ExitConfig, "", "^"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, stdout, stderr := runs(t, tt.args...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit %d, want %d\nstdout %q, want %q in it\nstderr %q, want %q in it", code, tt.code, stdout, tt.stdout, stderr, tt.stderr)
			}
		})
	}
}

// served is a command line that serves until stop.
type served struct {
	t      *testing.T
	greets string
	cancel context.CancelFunc
	code   chan int
	stderr *bytes.Buffer
}

// serves runs the gateway as its program does and waits for its greeting, whose
// last line tells that it is open.
func serves(t *testing.T, data string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{t: t, cancel: cancel, code: make(chan int, 1), stderr: &bytes.Buffer{}}
	r, w := io.Pipe()
	go func() {
		s.code <- run(ctx, []string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data}, nil, w, s.stderr)
		_ = w.Close()
	}()
	var text bytes.Buffer
	buf := make([]byte, 4096)
	for !strings.Contains(text.String(), "Redis is for more") {
		n, err := r.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			t.Fatalf("it ended: %s%s", text.String(), s.stderr)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	s.greets = text.String()
	return s
}

func (s *served) stop() {
	s.t.Helper()
	s.cancel()
	if code := <-s.code; code != config.ExitOK {
		s.t.Errorf("exit %d: %s", code, s.stderr)
	}
}

var curlLine = regexp.MustCompile(`curl -i -X POST (\S+) -H '(X-User-Id): (\S+)' -H '(Idempotency-Key): (\S+)'`)

// buyAsPrinted does what the printed line does.
func (s *served) buyAsPrinted() (status int, body string) {
	s.t.Helper()
	m := curlLine.FindStringSubmatch(s.greets)
	if m == nil {
		s.t.Fatalf("no curl line in %q", s.greets)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, m[1], http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set(m[2], m[3])
	req.Header.Set(m[4], m[5])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// The line that a newcomer is told to copy buys, on a port that was picked, and
// the second start shows a fresh demo.
func TestFirstMinute(t *testing.T) {
	data := t.TempDir()
	first := serves(t, data)
	if strings.Contains(first.greets, ":0/") {
		t.Errorf("the greeting names no port: %s", first.greets)
	}
	status, order := first.buyAsPrinted()
	if status != http.StatusCreated {
		t.Fatalf("the printed line: %d %s", status, order)
	}
	if _, again := first.buyAsPrinted(); again != order {
		t.Errorf("the same line again: %s, want %s", again, order)
	}
	if code, _, stderr := runs(t, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data); code != config.ExitFailed || !strings.Contains(stderr, "another gateway") {
		t.Errorf("a second gateway on the same data: exit %d, %s", code, stderr)
	}
	first.stop()

	second := serves(t, data)
	if status, body := second.buyAsPrinted(); status != http.StatusCreated || body == order {
		t.Errorf("after a restart: %d %s, want a new order", status, body)
	}
	second.stop()
}
