package web

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every file that another names is there, under whatever prefix.
func TestEveryNameLeadsToAFile(t *testing.T) {
	named := regexp.MustCompile(`(?:from |href=|src=)['"](\.[^'"]+)['"]`)
	for _, prefix := range []string{"", "/rush", "/a/b"} {
		files := Files(prefix)
		found := 0
		for at, file := range files {
			for _, m := range named.FindAllStringSubmatch(string(file.Body), -1) {
				found++
				if target := path.Join(path.Dir(at+"x"), m[1]); files[target].Body == nil {
					t.Errorf("%s names %s, and nothing is at %s", at, m[1], target)
				}
			}
		}
		if found < 20 {
			t.Errorf("only %d names were looked at", found)
		}
	}
}

func TestPaths(t *testing.T) {
	for prefix, want := range map[string][]string{
		"":       {"/", "/_rushgate/rushgate.js", "/_rushgate/sale.css"},
		"/rush":  {"/rush/", "/rush/_rushgate/rushgate.js"},
		"/rush/": {"/rush/", "/rush/_rushgate/rushgate.js"},
	} {
		files := Files(prefix)
		for _, at := range want {
			if files[at].Body == nil {
				t.Errorf("prefix %q: nothing at %s", prefix, at)
			}
		}
	}
	if got := Files("/rush")["/rush"].Serve(""); got.Status != 308 || got.Header[0] != (Field{"Location", "/rush/"}) {
		t.Errorf("the prefix without its slash answers %+v", got)
	}
	if _, there := Files("")[""]; there {
		t.Error("no prefix, and yet something at the empty path")
	}
}

func TestServe(t *testing.T) {
	page := Files("")["/"]
	if len(page.ETag) < 10 || page.ETag[0] != '"' {
		t.Fatalf("the tag is %s, want it strong", page.ETag)
	}
	for name, c := range map[string]struct {
		ifNoneMatch string
		status      int
	}{
		"none":               {"", 200},
		"same":               {page.ETag, 304},
		"same, made weak":    {"W/" + page.ETag, 304},
		"in a list":          {`"a", ` + page.ETag + `,"b"`, 304},
		"any":                {"*", 304},
		"another":            {`"a"`, 200},
		"unquoted":           {strings.Trim(page.ETag, `"`), 200},
		"another file's tag": {Files("")["/_rushgate/sale.css"].ETag, 200},
	} {
		t.Run(name, func(t *testing.T) {
			got := page.Serve(c.ifNoneMatch)
			if got.Status != c.status || (got.Body == nil) != (c.status == 304) {
				t.Errorf("status %d with %d bytes, want status %d", got.Status, len(got.Body), c.status)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	types := map[string]string{"/": "text/html; charset=utf-8", "/_rushgate/sale.js": "text/javascript; charset=utf-8", "/_rushgate/sale.css": "text/css; charset=utf-8", "/_rushgate/icon.svg": "image/svg+xml"}
	for at, want := range types {
		file := Files("")[at]
		got := map[string]string{}
		for _, f := range file.Serve("").Header {
			got[f.Name] = f.Value
		}
		diff := cmp.Diff(map[string]string{
			"Content-Type":            want,
			"ETag":                    file.ETag,
			"Cache-Control":           "no-cache",
			"Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "same-origin",
		}, got)
		if diff != "" {
			t.Errorf("%s: %s", at, diff)
		}
	}
}

// Nothing is inline, nothing comes from elsewhere, and no text becomes markup.
func TestSourceKeepsThePolicy(t *testing.T) {
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|<style|<script(?:>| type="module">)|\son\w+=|\sstyle=|https?://[^w]|//cdn`)
	for at, file := range Files("") {
		body := string(file.Body)
		if at == "/_rushgate/rushgate.js" {
			body = regexp.MustCompile(`(?s)/\*\*.*?\*/`).ReplaceAllString(body, "") // its comment shows a shop's page
		}
		if found := banned.FindString(body); found != "" {
			t.Errorf("%s has %q", at, found)
		}
	}
}
