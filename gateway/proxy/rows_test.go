package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// row is one request of the table that all raw tests share.
type row struct {
	name     string // begins with its number among the cases
	send     string
	method   string // by which the answer is read; "" for GET
	status   []int  // of each answer, in order
	says     string // must stand in the body of each
	closes   bool
	upstream int                             // requests that the backend has seen
	check    func(upstream ...string) string // what is wrong with them; "" for nothing
}

func runRows(t *testing.T, rows []row) {
	b := startBackend(t, nil)
	f := startFront(t, testBounds, Options{Servers: []string{b.addr}})
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { r.run(t, f, b) })
	}
}

func (r row) run(t *testing.T, f *front, b *backend) {
	before := len(b.requests())
	c := f.dial(t)
	c.send(r.send)
	for i, want := range r.status {
		if resp, body := c.answer(r.method); resp.StatusCode != want || !strings.Contains(body, r.says) {
			t.Fatalf("answer %d: %d, want %d %s: %s", i+1, resp.StatusCode, want, r.says, body)
		}
	}
	if r.closes {
		c.wantClosed()
	}
	got := b.requests()[before:]
	if len(got) != r.upstream {
		t.Fatalf("%d requests upstream, want %d: %q", len(got), r.upstream, got)
	}
	if r.check != nil {
		if wrong := r.check(got...); wrong != "" {
			t.Fatalf("upstream: %s in %q", wrong, got)
		}
	}
	if r.closes {
		c = f.dial(t)
	}
	c.follow(b)
}

// has and lacks look for parts of the first upstream request, in any case.
func has(parts ...string) func(...string) string {
	return func(got ...string) string {
		for _, p := range parts {
			if !strings.Contains(got[0], p) {
				return fmt.Sprintf("%q is missing", p)
			}
		}
		return ""
	}
}

func lacks(parts ...string) func(...string) string {
	return func(got ...string) string {
		for _, p := range parts {
			if strings.Contains(strings.ToLower(got[0]), strings.ToLower(p)) {
				return fmt.Sprintf("%q stands", p)
			}
		}
		return ""
	}
}

func both(checks ...func(...string) string) func(...string) string {
	return func(got ...string) string {
		for _, check := range checks {
			if wrong := check(got...); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// refused is a row that is answered with a status, closed, and never sent on.
func refused(name, send string, status int) row {
	return row{name: name, send: send, status: []int{status}, closes: true}
}

func (r row) saying(part string) row {
	r.says = part
	return r
}
