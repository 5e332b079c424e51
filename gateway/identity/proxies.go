package identity

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"
)

// Proxy is a group of peers whose X-Forwarded-For is believed.
//
// More than one hop is safe only where the outer proxies can't be gone round: who
// reaches the inner one directly writes the entry of the outer one.
type Proxy struct {
	Prefix netip.Prefix
	Hops   int // the client is the Hops-th entry from the right; 1 where the peer is the only proxy
}

// Proxies knows whose X-Forwarded-For is believed, and how far.
type Proxies struct {
	hops bart.Table[int]
}

// NewProxies returns the proxies of a configuration. Where prefixes overlap, the
// longest wins. The error names the entry that can't be used.
func NewProxies(list []Proxy) (*Proxies, error) {
	p := &Proxies{}
	for _, proxy := range list {
		if !proxy.Prefix.IsValid() {
			return nil, fmt.Errorf("trusted proxy %v: write a CIDR such as 10.0.0.0/8", proxy.Prefix)
		}
		if proxy.Hops < 1 {
			return nil, fmt.Errorf("trusted proxy %v: hops is %d; write 1 where it is the only proxy, and one more for each before it", proxy.Prefix, proxy.Hops)
		}
		p.hops.Insert(plainPrefix(proxy.Prefix), proxy.Hops)
	}
	return p, nil
}

// Client returns the address of the client behind a TCP peer. forwardedFor
// holds the values of all X-Forwarded-For lines of the request, in order; they
// are one list (RFC 9110, section 5.3), which grows at its right end.
//
// The entry that is taken is counted from the right, over the proxies that are
// known to have written there. The left end is whatever the client sent: to
// believe it would let a client pick its address, and so dodge its limit or use
// up somebody else's. Where the list is shorter than it must be, or the entry is
// no address, somebody came another way than the configuration says; then the
// peer itself is the client, and nothing further left is looked at. An empty
// element counts as an entry for the same reason: skipping it would move the
// count to the left.
//
// It allocates nothing unless the entry is malformed.
func (p *Proxies) Client(peer netip.Addr, forwardedFor [][]byte) netip.Addr {
	peer = plain(peer)
	hops, trusted := p.hops.Lookup(peer)
	if !trusted {
		return peer
	}
	entry, ok := fromRight(forwardedFor, hops)
	if !ok {
		return peer
	}
	client, ok := parseEntry(entry)
	if !ok {
		return peer
	}
	return client
}

// fromRight returns the nth element from the right, 1 being the last, of the
// comma-separated list that the lines make up together.
func fromRight(lines [][]byte, n int) ([]byte, bool) {
	for _, line := range slices.Backward(lines) {
		for more := true; more; n-- {
			var entry []byte
			line, entry, more = cutLast(line)
			if n == 1 {
				return entry, true
			}
		}
	}
	return nil, false
}

// cutLast splits off what follows the last comma; more says that there was one.
func cutLast(line []byte) (before, last []byte, more bool) {
	i := bytes.LastIndexByte(line, ',')
	return line[:max(i, 0)], line[i+1:], i >= 0
}

// mappedBits is the length of ::ffff:0:0/96, under which IPv4 addresses are
// written as IPv6 (RFC 4291, section 2.5.5.2).
const mappedBits = 96

// plainPrefix does for prefixes what plain does for the addresses looked up.
func plainPrefix(p netip.Prefix) netip.Prefix {
	if addr := p.Addr(); addr.Is4In6() && p.Bits() >= mappedBits {
		return netip.PrefixFrom(addr.Unmap(), p.Bits()-mappedBits)
	}
	return p
}
