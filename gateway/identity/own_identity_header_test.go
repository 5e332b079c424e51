package identity

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestUser(t *testing.T) {
	const shop, stranger = "10.0.0.1", "203.0.113.7"
	h := NewHeader([]netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("::ffff:172.16.0.0/108"),
		{}, // trusts nobody
	})
	long := strings.Repeat("x", maxUser)
	tests := map[string]struct {
		peer, value string
		n           int
		want        string
		err         error
	}{
		"a name":                     {shop, "ann", 1, "ann", nil},
		"an address":                 {shop, "o'ann+shop@example.com", 1, "o'ann+shop@example.com", nil},
		"an id of a provider":        {shop, "auth0|5f7c8ec7c33c6c004bbafe82", 1, "auth0|5f7c8ec7c33c6c004bbafe82", nil},
		"base64":                     {shop, "8J+YgA==/", 1, "8J+YgA==/", nil},
		"percent-encoded":            {shop, "%E5%BC%A0", 1, "%E5%BC%A0", nil},
		"space around":               {shop, " \tann ", 1, "ann", nil},
		"longest":                    {shop, long, 1, long, nil},
		"IPv6 peer":                  {"::1", "ann", 1, "ann", nil},
		"peer written as IPv6":       {"::ffff:10.0.0.1", "ann", 1, "ann", nil},
		"prefix written as IPv6":     {"172.31.255.255", "ann", 1, "ann", nil},
		"no line":                    {shop, "", 0, "", ErrUnauthenticated},
		"empty line":                 {shop, "", 1, "", ErrUnauthenticated},
		"blank line":                 {shop, " \t", 1, "", ErrUnauthenticated},
		"the client's own":           {stranger, "ann", 1, "", ErrUnauthenticated},
		"the client's own, twice":    {stranger, "ann", 2, "", ErrUnauthenticated},
		"the client's own, busted":   {stranger, "a b", 1, "", ErrUnauthenticated},
		"one of two is the client's": {shop, "ann", 2, "", ErrBadIdentity},
		"two joined into one":        {shop, "ann, bob", 1, "", ErrBadIdentity},
		"two joined without a space": {shop, "ann,bob", 1, "", ErrBadIdentity},
		"a parameter":                {shop, "ann;admin", 1, "", ErrBadIdentity},
		"quoted":                     {shop, `"ann"`, 1, "", ErrBadIdentity},
		"backslash":                  {shop, `ann\`, 1, "", ErrBadIdentity},
		"space inside":               {shop, "ann bob", 1, "", ErrBadIdentity},
		"control byte":               {shop, "ann\x00", 1, "", ErrBadIdentity},
		"line break":                 {shop, "ann\r\nbob", 1, "", ErrBadIdentity},
		"DEL":                        {shop, "ann\x7f", 1, "", ErrBadIdentity},
		"not ASCII":                  {shop, "张三", 1, "", ErrBadIdentity},
		"too long":                   {shop, long + "x", 1, "", ErrBadIdentity},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := h.User(netip.MustParseAddr(tt.peer), []byte(tt.value), tt.n)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q and error %v, want %q and %v", got, err, tt.want, tt.err)
			}
		})
	}
	if _, err := h.User(netip.Addr{}, []byte("ann"), 1); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("no peer: error %v, want %v", err, ErrUnauthenticated)
	}
}

func TestNobodyIsTrustedUnlessNamed(t *testing.T) {
	for _, peer := range []string{"127.0.0.1", "::1", "10.0.0.1"} {
		if got, err := NewHeader(nil).User(netip.MustParseAddr(peer), []byte("ann"), 1); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("peer %s: got %q and error %v, want %v", peer, got, err, ErrUnauthenticated)
		}
	}
}

func TestUserAllocatesNothing(t *testing.T) {
	h := NewHeader([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	peer, stranger := netip.MustParseAddr("::ffff:10.0.0.1"), netip.MustParseAddr("203.0.113.7")
	good, bad := []byte(" ann@example.com "), []byte("ann, bob")
	got := testing.AllocsPerRun(1000, func() {
		for _, value := range [][]byte{good, bad, nil} {
			_, _ = h.User(peer, value, 1)
			_, _ = h.User(stranger, value, 1)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
