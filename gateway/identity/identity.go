// Package identity says who is asking: from which address, as which user, and
// under which key.
//
// One rule is under all of it. What a client writes about itself is worth
// nothing; what counts is the peer at the other end of the TCP connection, and
// what a peer that is configured as trusted says about others.
//
// All functions and methods are safe for concurrent use and keep nothing of
// their arguments. A byte slice that is returned lies in the slice that was
// passed in: copy it if it is to outlive the request.
package identity

import "net/netip"

// DefaultIPv6Prefix is the part of an IPv6 address that names a network. The 64
// bits behind it are a host's own choice (RFC 4291, section 2.5.4), and a new
// choice for each connection is ordinary (RFC 8981).
const DefaultIPv6Prefix = 64

// Key is what a client's address is limited by: IPv4 as it is, IPv6 cut to its
// first ipv6Prefix bits, since one host can send from all addresses of its
// network. Subscribers who are given many networks, a /56 say, can go through
// those; a shorter prefix stops that, and throws neighbours together. An
// ipv6Prefix outside 1 to 128 counts as DefaultIPv6Prefix.
func Key(addr netip.Addr, ipv6Prefix int) netip.Addr {
	addr = plain(addr)
	if !addr.Is6() {
		return addr
	}
	if ipv6Prefix < 1 || ipv6Prefix > 128 {
		ipv6Prefix = DefaultIPv6Prefix
	}
	network, _ := addr.Prefix(ipv6Prefix) // fails only for lengths that were just excluded
	return network.Addr()
}

// plain makes addresses comparable: IPv4 written as IPv6 becomes IPv4, and the
// zone, which names an interface of some host and not a client, goes.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
