package proxy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRouter(t *testing.T) {
	r, err := NewRouter([]Route{{"/", "root"}, {"/shop/", "shop"}, {"/shop/admin", "admin"}, {"/a.b", "dot"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/":                "root",
		"/x":               "root",
		"/shop":            "shop",
		"/shop/":           "shop",
		"/shop/x/y":        "shop",
		"/shopping":        "root",
		"/Shop":            "root",
		"/shop;v=1":        "shop",
		"/shop/admin":      "admin",
		"/shop/admin/":     "admin",
		"/shop/admin/x":    "admin",
		"/shop/admin;x":    "admin",
		"/shop/admins":     "shop",
		"/shop/x/admin":    "shop",
		"/a.b":             "dot",
		"/aXb":             "root",
		"*":                "",
		"":                 "",
		"shop":             "",
		"/sho":             "root",
		"/shop%20":         "root",
		"/shop/%E7%A7%92":  "shop",
		"/shop/admin%2Fxx": "shop", // Head.Read refuses it; here it is no segment
	} {
		if got, ok := r.Match([]byte(path)); got != want || ok != (want != "") {
			t.Errorf("Match(%q) = %q, %v, want %q", path, got, ok, want)
		}
	}
	var none *Router
	if _, ok := none.Match([]byte("/")); ok {
		t.Error("a nil Router matches")
	}
}

func TestRoutesAreChecked(t *testing.T) {
	for name, routes := range map[string][]Route{
		"empty":         {{"", "a"}},
		"no slash":      {{"shop", "a"}},
		"twice":         {{"/shop", "a"}, {"/shop/", "b"}},
		"root twice":    {{"/", "a"}, {"/", "b"}},
		"dot segment":   {{"/a/../b", "a"}},
		"empty segment": {{"//a", "a"}},
		"encoded":       {{"/%61", "a"}},
		"parameter":     {{"/a;b", "a"}},
		"query":         {{"/a?b", "a"}},
	} {
		if _, err := NewRouter(routes); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRouterModel: the winner is the route with the most segments among those
// whose segments begin the path's.
func TestRouterModel(t *testing.T) {
	segments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfNDistinct(segments, 0, 6, func(s []string) string { return strings.Join(s, "/") }).Draw(t, "routes")
		var routes []Route
		for _, p := range paths {
			routes = append(routes, Route{"/" + strings.Join(p, "/"), strings.Join(p, "+")})
		}
		r, err := NewRouter(routes)
		if err != nil {
			t.Fatal(err)
		}
		path := segments.Draw(t, "path")
		want, best := "", -1
		for _, p := range paths {
			if len(p) > best && len(p) <= len(path) && strings.Join(path[:len(p)], "/") == strings.Join(p, "/") {
				want, best = strings.Join(p, "+"), len(p)
			}
		}
		got, ok := r.Match([]byte("/" + strings.Join(path, "/")))
		if got != want || ok != (best >= 0) {
			t.Fatalf("%q, %v, want %q, %v", got, ok, want, best >= 0)
		}
	})
}
