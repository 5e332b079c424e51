package identity

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormsOfAnEntry(t *testing.T) {
	tests := map[string]string{
		"203.0.113.7":                           "203.0.113.7",
		" \t203.0.113.7 ":                       "203.0.113.7",
		"203.0.113.7:443":                       "203.0.113.7",
		`"203.0.113.7"`:                         "203.0.113.7",
		`"203.0.113.7:443"`:                     "203.0.113.7",
		"2001:db8::7":                           "2001:db8::7",
		"[2001:db8::7]":                         "2001:db8::7",
		"[2001:db8::7]:443":                     "2001:db8::7",
		`"[2001:db8::7]:443"`:                   "2001:db8::7",
		"2001:DB8::7":                           "2001:db8::7",
		"fe80::7%eth0":                          "fe80::7",
		"[fe80::7%eth0]:443":                    "fe80::7",
		"::ffff:203.0.113.7":                    "203.0.113.7",
		"[::ffff:cb00:7107]:443":                "203.0.113.7",
		"0000:0000:0000:0000:0000:ffff:1.2.3.4": "1.2.3.4",

		"":                      "",
		" ":                     "",
		`""`:                    "",
		"unknown":               "",
		"_hidden":               "",
		"localhost":             "",
		"203.0.113":             "",
		"203.0.113.007":         "",
		"203.0.113.7:":          "",
		"203.0.113.7:http":      "",
		"203.0.113.7:+1":        "",
		"203.0.113.7:123456":    "",
		"203.0.113.7 443":       "",
		"203.0.113.7/32":        "",
		`"203.0.113.7`:          "",
		`203.0.113.7"`:          "",
		`""203.0.113.7""`:       "",
		"[203.0.113.7]:443":     "",
		"[2001:db8::7":          "",
		"2001:db8::7]":          "",
		"[2001:db8::7]443":      "",
		"[2001:db8::7]:":        "",
		"[[2001:db8::7]]":       "",
		"[]":                    "",
		"[]:443":                "",
		"2001:db8::7::":         "",
		":":                     "",
		"%":                     "",
		"203.0.113.7\x00":       "",
		"for=203.0.113.7":       "",
		strings.Repeat("1", 99): "",
	}
	for entry, want := range tests {
		got, ok := parseEntry([]byte(entry))
		if ok != (want != "") || ok && got != netip.MustParseAddr(want) {
			t.Errorf("%q is %v (%v), want %q", entry, got, ok, want)
		}
	}
}

// No bytes make an address that is not comparable to others, or a panic.
func TestAnyEntryIsAPlainAddressOrNone(t *testing.T) {
	entries := rapid.OneOf(
		rapid.StringOf(rapid.SampledFrom([]rune(`0123456789abcdef.:[]%" /`))),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		entry := entries.Draw(t, "entry")
		addr, ok := parseEntry([]byte(entry))
		if ok != addr.IsValid() || addr.Is4In6() || addr.Zone() != "" {
			t.Fatalf("%q is %v (%v)", entry, addr, ok)
		}
	})
}

// Every way in which a proxy may write an address gives that address.
func TestEveryAddressIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addr := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address")))
		if rapid.Bool().Draw(t, "IPv4") {
			addr = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "IPv4 address")))
		}
		port := rapid.Uint16().Draw(t, "port")
		forms := []string{addr.String(), netip.AddrPortFrom(addr, port).String(), addr.StringExpanded()}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		if got, ok := parseEntry([]byte(form)); !ok || got != addr.Unmap() {
			t.Fatalf("%q is %v (%v), want %v", form, got, ok, addr.Unmap())
		}
	})
}
