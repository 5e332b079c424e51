package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

func (v validator) listeners() {
	c := v.c
	v.check("listen", listenAddress(c.Listen))
	v.check("backend.listen", listenAddress(c.Backend.Listen))
	v.check("backend.admin", listenAddress(c.Backend.Admin))
	v.check("admin.listen", listenAddress(c.Admin.Listen))
	v.between(collide(c.Listen, c.Admin.Listen), "admin.listen", "listen",
		"takes the port of "+v.named("listen", c.Listen), "give each listener a port of its own")
	v.between(collide(c.Backend.Listen, c.Backend.Admin), "backend.admin", "backend.listen",
		"takes the port of "+v.named("backend.listen", c.Backend.Listen), "give each listener a port of its own")
	v.adminToken()
}

func (v validator) adminToken() {
	a := v.c.Admin
	if a.TokenFile == "" {
		v.between(!isLoopback(a.Listen), "admin.listen", "admin.token_file",
			quote(a.Listen)+" can be reached from other machines, and admin.token_file is empty",
			"name a file with a token in admin.token_file, or listen on 127.0.0.1")
		return
	}
	if secret, ok := v.secret("admin.token_file", a.TokenFile); ok && len(secret) == 0 {
		v.refuse("admin.token_file", quote(a.TokenFile)+" is empty", "put a long random token in it")
	}
}

// pathSegments is a path as browsers send it unchanged (RFC 3986, the unreserved
// characters and a few that need no escape in a path).
var pathSegments = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$`)

func cleanPath(path string) bool {
	return pathSegments.MatchString(path) && !slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// paths checks the prefix of Rushgate's own paths, and the folder of the data.
func (v validator) paths() {
	switch p := v.c.Prefix; {
	case p == "":
	case !strings.HasPrefix(p, "/"):
		v.refuse("prefix", quote(p)+" does not start with /", `write e.g. /rush, or "" for none`)
	case strings.HasSuffix(p, "/"):
		v.refuse("prefix", quote(p)+" ends with /", `write it without the last /, e.g. /rush, or "" for none`)
	case !cleanPath(p):
		v.refuse("prefix", quote(p)+" is not a plain path", "write letters, digits and dashes between slashes, e.g. /rush")
	}
	v.text("data", v.c.Data)
	if strings.TrimSpace(v.c.Data) == "" {
		v.refuse("data", "names no folder", "write one, e.g. ./data")
	}
}

func (v validator) server() {
	s := v.c.Server
	v.positive("server.read", s.Read)
	v.positive("server.write", s.Write)
	v.positive("server.idle", s.Idle)
	v.size("server.header_bytes", s.HeaderBytes, 1<<10, 1<<20)
	v.within("server.fields", s.Fields, 1, 1000)
	v.size("server.body_bytes", s.BodyBytes, 1, 64<<20)
}

func (v validator) trust() {
	for i, p := range v.c.TrustedProxies {
		path := index("trusted_proxies", i)
		if p.CIDR == "" {
			v.refuse(path+".cidr", "is missing", "write the address or the network of the proxy")
		} else {
			v.check(path+".cidr", network(p.CIDR))
		}
		if p.Hops < 1 || p.Hops > 64 {
			v.refuse(path+".hops", fmt.Sprintf("%d is out of range", p.Hops), "write 1 where this peer is the only proxy before the gateway, and at most 64")
		}
	}
	v.word("identity.mode", v.c.Identity.Mode, []string{"header"}, map[string]string{
		"jwt": "write header: buyers are known by the X-User-Id of trusted peers; let the proxy that checks tokens set it",
	})
	v.networks("identity.trusted", v.c.Identity.Trusted)
}

// backendName is the upstream that is Rushgate's own.
const backendName = "backend"

func (v validator) upstreams() {
	for _, name := range slices.Sorted(maps.Keys(v.c.Upstreams)) {
		path, u := join("upstreams", name), v.c.Upstreams[name]
		v.positive(path+".timeout", u.Timeout)
		switch {
		case u.Embedded && name != backendName:
			v.refuse(path+".embedded", "only the backend can be embedded", "delete embedded and name the servers")
		case !u.Embedded && len(u.Servers) == 0 && name == backendName:
			v.refuse(path+".servers", "names no server, and embedded is false", "write host:port of each server, or embedded: true")
		case !u.Embedded && len(u.Servers) == 0:
			v.refuse(path+".servers", "names no server", "write host:port of each server")
		}
		v.servers(path+".servers", u.Servers)
		v.id(path, name, 64) // last: a bad name is no reason to hide what is below
	}
}

func (v validator) servers(path string, list []string) {
	for i, s := range list {
		v.check(index(path, i), serverAddress(s))
		if slices.Contains(list[:i], s) {
			v.refuse(index(path, i), quote(s)+" is named twice", "name each server once")
		}
	}
}

// ownPaths are served by the gateway itself, below the prefix.
var ownPaths = []string{"/time", "/items", "/seckill", "/orders", "/payments"}

func (v validator) routes() {
	seen := map[string]int{}
	for i, r := range v.c.Routes {
		path := index("routes", i)
		v.routePath(path+".path", r.Path)
		if first, twice := seen[r.Path]; twice {
			v.refuse(path+".path", fmt.Sprintf("%s has a route already, routes[%d]", quote(r.Path), first), "keep one of the two")
		} else {
			seen[r.Path] = i
		}
		v.routeUpstream(path+".upstream", r.Upstream)
	}
}

func (v validator) routePath(path, route string) {
	trimmed := strings.TrimSuffix(route, "/")
	switch {
	case route == "":
		v.refuse(path, "is missing", "write a path prefix, e.g. /shop/")
	case !strings.HasPrefix(route, "/"):
		v.refuse(path, quote(route)+" does not start with /", "write a path prefix, e.g. /shop/")
	case trimmed != "" && !cleanPath(trimmed):
		v.refuse(path, quote(route)+" is not a plain path", "write letters, digits and dashes between slashes, e.g. /shop/")
	}
	for _, own := range ownPaths {
		own = v.c.Prefix + own
		v.between(trimmed == own || strings.HasPrefix(route, own+"/"), path, "prefix",
			quote(route)+" is Rushgate's own", "choose another path, or move Rushgate's with prefix, e.g. /rush")
	}
}

// routeUpstream keeps the backend off the routes: its wire contract believes the
// gateway about who the buyer is.
func (v validator) routeUpstream(path, name string) {
	_, exists := v.c.Upstreams[name]
	switch {
	case name == "":
		v.refuse(path, "is missing", "write a name from upstreams")
	case name == backendName:
		v.refuse(path, "the backend must not be reached by a route", "name another upstream; the backend trusts its callers and is called by the gateway alone")
	case !exists:
		v.refuse(path, quote(name)+" is not in upstreams", v.upstreamHint(name))
	}
}

func (v validator) upstreamHint(name string) string {
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(v.c.Upstreams)), func(n string) bool { return n == backendName })
	if near := closest(name, others); near != "" {
		return "did you mean " + near + "? If not, add it there with its servers"
	}
	return "add it there with its servers"
}
