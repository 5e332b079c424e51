package blacklist

import (
	"net/netip"
	"strings"
	"testing"
)

func mustNew(t *testing.T, users, ips []string) *Set {
	t.Helper()
	s, err := New(users, ips)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUsers(t *testing.T) {
	s := mustNew(t, []string{"mallory", "eve@example.com"}, nil)
	for user, want := range map[string]bool{
		"mallory":         true,
		"eve@example.com": true,
		"Mallory":         false,
		"mallor":          false,
		"mallory2":        false,
		"":                false,
	} {
		if got := s.HasUser(user); got != want {
			t.Errorf("HasUser(%q) is %v, want %v", user, got, want)
		}
		if got := s.HasUserBytes([]byte(user)); got != want {
			t.Errorf("HasUserBytes(%q) is %v, want %v", user, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	s := mustNew(t, nil, []string{"192.0.2.7", "198.51.100.99/24", "2001:db8:1::/48", "::ffff:203.0.113.0/120", "::ffff:233.252.0.1"})
	for addr, want := range map[string]bool{
		"192.0.2.7":               true,
		"192.0.2.8":               false,
		"198.51.100.0":            true,
		"198.51.100.255":          true,
		"198.51.101.0":            false,
		"203.0.113.255":           true,
		"203.0.114.0":             false,
		"233.252.0.1":             true,
		"2001:db8:1:ffff::1":      true,
		"2001:db8:2::1":           false,
		"::ffff:192.0.2.7":        true,
		"::ffff:c633:6401":        true,
		"::ffff:192.0.2.8":        false,
		"2001:db8:1::1%eth0":      true,
		"::ffff:198.51.100.1%one": true,
	} {
		if got := s.HasAddr(netip.MustParseAddr(addr)); got != want {
			t.Errorf("HasAddr(%s) is %v, want %v", addr, got, want)
		}
	}
	if s.HasAddr(netip.Addr{}) {
		t.Error("the invalid address is on the list")
	}
}

func TestEntriesThatWouldRefuseNobodyAreErrors(t *testing.T) {
	tests := map[string]struct {
		users, ips []string
		want       string
	}{
		"empty user":        {[]string{"ann", ""}, nil, `user ""`},
		"user with a space": {[]string{"ann bob"}, nil, `user "ann bob"`},
		"name for an ip":    {nil, []string{"example.com"}, `ip "example.com"`},
		"too many bits":     {nil, []string{"10.0.0.0/33"}, `ip "10.0.0.0/33"`},
		"zone":              {nil, []string{"fe80::1%eth0"}, `ip "fe80::1%eth0"`},
		"zone in a CIDR":    {nil, []string{"fe80::1%eth0/64"}, `ip "fe80::1%eth0/64"`},
		"port":              {nil, []string{"192.0.2.7:80"}, `ip "192.0.2.7:80"`},
		"empty ip":          {nil, []string{""}, `ip ""`},
		"wider than IPv4":   {nil, []string{"::ffff:0.0.0.0/90"}, `ip "::ffff:0.0.0.0/90"`},
		"range":             {nil, []string{"10.0.0.1-10.0.0.9"}, `ip "10.0.0.1-10.0.0.9"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(tt.users, tt.ips)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "write ") {
				t.Errorf("got error %v, want one that names %s and what to write", err, tt.want)
			}
		})
	}
}

func TestZeroSetRefusesSomebody(t *testing.T) {
	var s Set
	if s.HasUser("ann") || s.HasUserBytes([]byte("ann")) || s.HasAddr(netip.MustParseAddr("192.0.2.7")) {
		t.Error("it does")
	}
}

func TestLookUpsAllocateNothing(t *testing.T) {
	s := mustNew(t, []string{"ann"}, []string{"192.0.2.0/24", "2001:db8::/32"})
	user := []byte("a-user-whose-name-is-longer-than-the-32-bytes-of-a-small-buffer")
	addr, mapped := netip.MustParseAddr("2001:db8::1%eth0"), netip.MustParseAddr("::ffff:192.0.2.1")
	got := testing.AllocsPerRun(1000, func() {
		s.HasUserBytes(user)
		s.HasUser("ann")
		s.HasAddr(addr)
		s.HasAddr(mapped)
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
