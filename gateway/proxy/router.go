package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Route sends all paths under Path to an upstream.
type Route struct {
	Path     string // "/shop/" and "/shop" both mean /shop and all below it
	Upstream string
}

// Router chooses the upstream of a path: the longest route whose segments the
// path begins with. It never changes and is safe for concurrent use; a nil
// Router has no routes.
type Router struct {
	routes []Route // longest first, without the final slash
}

// NewRouter returns an error that names the route if one could never match, or
// if two are the same.
func NewRouter(routes []Route) (*Router, error) {
	r := &Router{}
	for _, route := range routes {
		if !strings.HasPrefix(route.Path, "/") || strings.ContainsAny(route.Path, ";?#") {
			return nil, fmt.Errorf("route %q: write a path that begins with '/'", route.Path)
		}
		if f := checkPath([]byte(route.Path)); f != nil {
			return nil, fmt.Errorf("route %q can never match: %s", route.Path, f.Detail)
		}
		route.Path = strings.TrimSuffix(route.Path, "/")
		if slices.ContainsFunc(r.routes, func(o Route) bool { return o.Path == route.Path }) {
			return nil, fmt.Errorf("route %q stands twice: remove one", route.Path+"/")
		}
		r.routes = append(r.routes, route)
	}
	slices.SortStableFunc(r.routes, func(a, b Route) int { return cmp.Compare(len(b.Path), len(a.Path)) })
	return r, nil
}

// Match returns the upstream of a path as [Head.Path] gives it, the bytes that
// will be sent. Parameters of the last segment are no part of its name.
func (r *Router) Match(path []byte) (upstream string, ok bool) {
	if r == nil || len(path) == 0 || path[0] != '/' {
		return "", false
	}
	for i := range r.routes {
		if hasSegments(path, r.routes[i].Path) {
			return r.routes[i].Upstream, true
		}
	}
	return "", false
}

// hasSegments says that path begins with prefix and that a segment ends there.
func hasSegments(path []byte, prefix string) bool {
	if len(path) < len(prefix) || string(path[:len(prefix)]) != prefix {
		return false
	}
	rest := path[len(prefix):]
	return len(rest) == 0 || rest[0] == '/' || rest[0] == ';'
}
