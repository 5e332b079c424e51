package identity

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// A host may change any bit behind its network's prefix and keeps its key; a
// change within the prefix is another network.
func TestRotationInsideANetworkIsOneKey(t *testing.T) {
	v6 := rapid.Map(rapid.SliceOfN(rapid.Byte(), 15, 15), func(b []byte) [16]byte {
		return [16]byte(append([]byte{0x20}, b...)) // 2000::/8, so never IPv4 written as IPv6
	})
	rapid.Check(t, func(t *rapid.T) {
		addr := v6.Draw(t, "address")
		prefix := rapid.IntRange(9, 128).Draw(t, "prefix")
		bit := rapid.IntRange(8, 127).Draw(t, "bit that changes")
		rotated := addr
		rotated[bit/8] ^= 0x80 >> (bit % 8)
		same := Key(netip.AddrFrom16(addr), prefix) == Key(netip.AddrFrom16(rotated), prefix)
		if want := bit >= prefix; same != want {
			t.Fatalf("one key for both: %v, want %v", same, want)
		}
	})
}

func TestKey(t *testing.T) {
	tests := map[string]struct {
		addr string
		bits int
		want string
	}{
		"IPv4 stays whole":         {"203.0.113.7", 64, "203.0.113.7"},
		"IPv4 has no short prefix": {"203.0.113.7", 8, "203.0.113.7"},
		"IPv4 written as IPv6":     {"::ffff:203.0.113.7", 64, "203.0.113.7"},
		"a /64":                    {"2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"},
		"a /56":                    {"2001:db8:1:2ff:3:4:5:6", 56, "2001:db8:1:200::"},
		"a single address":         {"2001:db8::7", 128, "2001:db8::7"},
		"a zone":                   {"fe80::1:2%eth0", 64, "fe80::"},
		"0 is the default":         {"2001:db8:1:2:3:4:5:6", 0, "2001:db8:1:2::"},
		"129 is the default":       {"2001:db8:1:2:3:4:5:6", 129, "2001:db8:1:2::"},
		"negative is the default":  {"2001:db8:1:2:3:4:5:6", -1, "2001:db8:1:2::"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, want := Key(netip.MustParseAddr(tt.addr), tt.bits), netip.MustParseAddr(tt.want); got != want {
				t.Errorf("key is %v, want %v", got, want)
			}
		})
	}
	if got := Key(netip.Addr{}, 64); got.IsValid() {
		t.Errorf("key of no address is %v, want none", got)
	}
}
