// Package blacklist says who is refused before anything else is asked: users by
// name, clients by address. A set never changes; whoever holds it swaps it for
// another one.
package blacklist

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/gaissmai/bart"
)

// Set is an immutable blacklist. The zero value is empty. All methods are safe
// for concurrent use, allocate nothing, and keep nothing of their arguments.
type Set struct {
	users    map[string]struct{}
	prefixes bart.Lite
}

// New returns the set of these users and of these addresses and CIDRs. The error
// names the entry that can't be used.
func New(users, ips []string) (*Set, error) {
	s := &Set{users: make(map[string]struct{}, len(users))}
	for _, user := range users {
		if err := checkUser(user); err != nil {
			return nil, fmt.Errorf("blacklist: user %q: %w", user, err)
		}
		s.users[user] = struct{}{}
	}
	for _, ip := range ips {
		prefix, err := parsePrefix(ip)
		if err != nil {
			return nil, fmt.Errorf("blacklist: ip %q: %w", ip, err)
		}
		s.prefixes.Insert(prefix)
	}
	return s, nil
}

// HasUser says whether a user is refused. Names are compared byte by byte.
func (s *Set) HasUser(user string) bool {
	_, ok := s.users[user]
	return ok
}

// HasUserBytes is HasUser for a name that lies in a buffer of the caller's.
func (s *Set) HasUserBytes(user []byte) bool {
	_, ok := s.users[string(user)]
	return ok
}

// HasAddr says whether a client address is refused. An IPv4 address written as
// IPv6 counts as what it is, and a zone doesn't matter: neither is a way round
// the list. An invalid address is not on it.
func (s *Set) HasAddr(addr netip.Addr) bool {
	return s.prefixes.Contains(addr.Unmap())
}

// mappedBits is the length of ::ffff:0:0/96, under which IPv4 addresses are
// written as IPv6 (RFC 4291, section 2.5.5.2).
const mappedBits = 96

// parsePrefix reads an address or a CIDR. Host bits are dropped, and IPv4
// written as IPv6 becomes IPv4, since addresses are looked up that way.
func parsePrefix(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errPrefix
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, errPrefix
	}
	if addr := prefix.Addr(); addr.Is4In6() {
		if prefix.Bits() < mappedBits {
			return netip.Prefix{}, errPrefix // wider than all of IPv4, which it would not match
		}
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-mappedBits)
	}
	return prefix.Masked(), nil
}
