package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// The functions below judge one value each and return a valueError, or nil.

// hostName is a name as RFC 1123 section 2.1 allows it, and the underscore that
// container networks use.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?$`)

// listenAddress is host:port to listen on. The host may be missing (every
// interface), the port may be 0 (any free one).
func listenAddress(text string) error {
	host, _, err := splitAddress(text, ":8080")
	if err != nil || host == "" {
		return err
	}
	return validHost(host)
}

// serverAddress is host:port to connect to.
func serverAddress(text string) error {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		rest, _, _ = strings.Cut(rest, "/")
		if scheme != "http" {
			return &valueError{quote(text) + " is a URL", "write host:port; upstreams speak plain http in this version"}
		}
		return &valueError{quote(text) + " is a URL", "write host:port without http://, e.g. " + withPort(rest)}
	}
	return hostPort(text, "127.0.0.1:8081")
}

// hostPort is host:port to connect to, without a scheme; example is what a hint
// shows.
func hostPort(text, example string) error {
	host, port, err := splitAddress(text, example)
	switch {
	case err != nil:
		return err
	case host == "":
		return &valueError{quote(text) + " names no host", "write host:port, e.g. 127.0.0.1" + text}
	case port == 0:
		return &valueError{quote(text) + " has port 0", "write the port that the server listens on"}
	}
	return validHost(host)
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return host + ":80"
	}
	return host
}

// splitAddress takes host:port apart; example is what the hint shows.
func splitAddress(text, example string) (host string, port uint16, err error) {
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, &valueError{quote(text) + " is not host:port", addressHint(text, example)}
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return "", 0, &valueError{"port " + quote(number) + " is not a number from 0 to 65535", "write host:port, e.g. " + example}
	}
	return host, uint16(n), nil
}

func addressHint(text, example string) string {
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		return "write :" + text + " for that port on every interface"
	}
	if a, err := netip.ParseAddr(text); err == nil {
		_, port, _ := net.SplitHostPort(example)
		return "write a port too, e.g. " + net.JoinHostPort(a.String(), port)
	}
	return "write host:port, e.g. " + example + "; an IPv6 address stands in brackets, e.g. [::1]:8080"
}

func validHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if !hostName.MatchString(host) || strings.Contains(host, "..") || looksNumeric(host) {
		return &valueError{quote(host) + " is neither an address nor a host name", "write e.g. 127.0.0.1, [::1] or a name"}
	}
	return nil
}

// looksNumeric catches 10.0.0.256 and 10.0.1, which are names by their letters
// only; no top-level domain is a number.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	_, err := strconv.ParseUint(strings.TrimSuffix(last, "."), 10, 64)
	return err == nil
}

// network is an address or a CIDR in the form that clients are compared with:
// IPv4 as itself, not inside IPv6, without a zone, without bits beyond the
// prefix.
func network(text string) error {
	if addr, err := netip.ParseAddr(text); err == nil && !strings.Contains(text, "/") { // a zone may hold anything
		switch {
		case addr.Zone() != "":
			return &valueError{quote(text) + " has a zone", "write " + addr.WithZone("").String()}
		case addr.Is4In6():
			return &valueError{quote(text) + " is an IPv4 address inside IPv6", "write " + addr.Unmap().String()}
		}
		return nil
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return &valueError{quote(text) + " is neither an address nor a CIDR", "write e.g. 10.0.0.0/8, 192.168.1.7 or 2001:db8::/32"}
	case p.Addr().Is4In6():
		return &valueError{quote(text) + " is an IPv4 network inside IPv6", unmapHint(p)}
	case p != p.Masked():
		return &valueError{quote(text) + " has bits beyond its prefix", fmt.Sprintf("write %s for the network, or %s for the one address", p.Masked(), p.Addr())}
	}
	return nil
}

func unmapHint(p netip.Prefix) string {
	if p.Bits() < 96 {
		return "write the IPv4 network, e.g. 10.0.0.0/8"
	}
	return "write " + netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked().String()
}

// isLoopback says that only this machine can reach a listener.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// collide says that two listeners can't both be opened: the same port on the
// same host, or on every interface in one of them.
func collide(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || anyHost(hostA) || anyHost(hostB)
}

func anyHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}
