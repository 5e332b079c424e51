package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
)

// access decides who may use /admin/.
type access struct {
	token func() []byte // nil: none is configured
}

// refuses returns why a request may not, or nil if it may.
func (a *access) refuses(r *http.Request) *problem {
	if a.token != nil {
		return refusesToken(r, a.token())
	}
	return refusesStranger(r)
}

func refusesToken(r *http.Request, want []byte) *problem {
	scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Digests are of one length, so that the time tells nothing of the token's.
	a, b := sha256.Sum256([]byte(strings.TrimSpace(got))), sha256.Sum256(want)
	if strings.EqualFold(scheme, "Bearer") && len(want) > 0 && subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return nil
	}
	return &problem{Status: http.StatusUnauthorized, Code: "unauthenticated", Detail: "Send the token of admin.token_file as Authorization: Bearer."}
}

// refusesStranger lets through who is on this machine and means it. A web page
// open in a browser here can send requests too: from its own site, which the
// browser says, or from a name that it has made point to this machine, which the
// Host tells. A proxy here speaks for somebody elsewhere.
func refusesStranger(r *http.Request) *problem {
	var detail string
	switch {
	case !isLoopback(r.RemoteAddr):
		detail = "Without admin.token_file this is for the machine itself; configure a token, or ask from there."
	case !namesMachine(r.Host):
		detail = "Ask by IP address or localhost, or configure admin.token_file."
	case fromElsewhere(r):
		detail = "A web page of another site, or a proxy, may not ask; configure admin.token_file."
	default:
		return nil
	}
	return &problem{Status: http.StatusForbidden, Code: "forbidden", Detail: detail}
}

func isLoopback(peer string) bool {
	a, err := netip.ParseAddrPort(peer)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// namesMachine says that a Host, with or without a port, is an IP address or
// localhost: names that nobody else's DNS decides about (RFC 6761 section 6.3).
func namesMachine(host string) bool {
	if name, port, ok := strings.Cut(host, ":"); ok && !strings.Contains(port, ":") {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if _, err := netip.ParseAddrPort(host); err == nil { // [::1]:9090
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// fromElsewhere says that a page of another origin sent the request (Fetch
// Metadata, and the Origin field of the Fetch standard), or a proxy.
func fromElsewhere(r *http.Request) bool {
	h := r.Header
	switch h.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return true
	}
	if origin := h.Values("Origin"); len(origin) > 0 && (len(origin) > 1 || origin[0] != "http://"+r.Host) {
		return true
	}
	for _, name := range [...]string{"Forwarded", "X-Forwarded-For", "Via"} {
		if len(h.Values(name)) > 0 {
			return true
		}
	}
	return false
}
