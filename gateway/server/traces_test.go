package server

import (
	"strings"
	"testing"
)

// The client's trace goes on where its traceparent is valid; otherwise a new one
// begins, never the same twice.
func TestTraceIsBroken(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	const valid = "00-" + trace + "-00f067aa0ba902b7-01"
	g := open(t, nil)
	ask := func(fields ...string) string {
		t.Helper()
		r := get("/nope")
		r.fields = fields
		a := g.send(r)
		isProblem(t, a)
		return a.member.TraceID
	}
	if got := ask("traceparent: " + valid); got != trace {
		t.Errorf("the trace goes on as %s", got)
	}
	if got := ask("Traceparent: " + strings.Replace(valid, "-01", "-00", 1)); got != trace {
		t.Errorf("not sampled: it goes on as %s", got)
	}
	seen := map[string]bool{trace: true}
	for name, field := range map[string]string{
		"none":                 "",
		"upper case":           strings.ToUpper(valid),
		"too short":            valid[:54],
		"too long":             valid + "0",
		"another version":      "01" + valid[2:],
		"no trace":             "00-" + strings.Repeat("0", 32) + valid[35:],
		"no parent":            valid[:36] + strings.Repeat("0", 16) + "-01",
		"a parent that is not": valid[:36] + "00f067aa0ba902bX-01",
		"a quote":              "00-" + trace[:31] + `"` + valid[35:],
		"dots":                 strings.ReplaceAll(valid, "-", "."),
	} {
		fields := []string{"traceparent: " + field}
		if field == "" {
			fields = nil
		}
		if got := ask(fields...); seen[got] {
			t.Errorf("%s: trace %s, which is another's", name, got)
		} else {
			seen[got] = true
		}
	}
	if got := ask("traceparent: "+valid, "traceparent: "+valid); seen[got] {
		t.Errorf("sent twice: trace %s", got)
	}
}
