package identity

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// proxies are one balancer, and one behind a delivery network, whose subnet has a
// machine of its own.
func proxies(t testing.TB) *Proxies {
	t.Helper()
	p, err := NewProxies([]Proxy{
		{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Hops: 1},
		{Prefix: netip.MustParsePrefix("10.2.0.0/16"), Hops: 2},
		{Prefix: netip.MustParsePrefix("fd00::/8"), Hops: 1},
		{Prefix: netip.MustParsePrefix("::ffff:172.16.0.0/108"), Hops: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lines(values ...string) [][]byte {
	all := make([][]byte, len(values))
	for i, v := range values {
		all[i] = []byte(v)
	}
	return all
}

func TestClient(t *testing.T) {
	const (
		one  = "10.0.0.1"   // believed for one entry
		two  = "10.2.0.1"   // believed for two
		none = "192.0.2.99" // not believed
	)
	tests := map[string]struct {
		peer string
		xff  []string
		want string
	}{
		"no header":                         {one, nil, one},
		"one entry":                         {one, []string{"203.0.113.7"}, "203.0.113.7"},
		"invented entries on the left":      {one, []string{"1.1.1.1, 2.2.2.2, 203.0.113.7"}, "203.0.113.7"},
		"invented line before":              {one, []string{"1.1.1.1", "203.0.113.7"}, "203.0.113.7"},
		"invented lines and entries":        {one, []string{"1.1.1.1,2.2.2.2", "3.3.3.3,203.0.113.7"}, "203.0.113.7"},
		"empty line sent by the client":     {one, []string{"", "203.0.113.7"}, "203.0.113.7"},
		"untrusted peer":                    {none, []string{"203.0.113.7"}, none},
		"untrusted peer claims to be local": {none, []string{"127.0.0.1"}, none},
		"two hops":                          {two, []string{"203.0.113.7, 198.51.100.2"}, "203.0.113.7"},
		"two hops over two lines":           {two, []string{"1.1.1.1, 203.0.113.7", "198.51.100.2"}, "203.0.113.7"},
		"two hops, invented on the left":    {two, []string{"1.1.1.1, 203.0.113.7, 198.51.100.2"}, "203.0.113.7"},
		"two hops, only one entry":          {two, []string{"203.0.113.7"}, two},
		"two hops, the inner one is junk":   {two, []string{"203.0.113.7, unknown"}, "203.0.113.7"},
		"two hops, the outer one is junk":   {two, []string{"1.1.1.1, unknown, 198.51.100.2"}, two},
		"empty element isn't skipped":       {two, []string{"1.1.1.1, , 198.51.100.2"}, two},
		"empty line isn't skipped":          {two, []string{"1.1.1.1", "", "198.51.100.2"}, two},
		"comma at the start of a line":      {two, []string{"1.1.1.1", ",198.51.100.2"}, two},
		"empty value":                       {one, []string{""}, one},
		"comma at the end":                  {one, []string{"1.1.1.1,"}, one},
		"junk":                              {one, []string{"1.1.1.1, <script>"}, one},
		"peer written as IPv6":              {"::ffff:10.0.0.1", []string{"203.0.113.7"}, "203.0.113.7"},
		"peer with a zone":                  {"fd00::1%eth0", []string{"203.0.113.7"}, "203.0.113.7"},
		"proxy written as IPv6":             {"172.31.0.1", []string{"203.0.113.7"}, "203.0.113.7"},
		"untrusted peer written as IPv6":    {"::ffff:192.0.2.99", nil, none},
		"untrusted peer with a zone":        {"fe80::1%eth0", nil, "fe80::1"},
	}
	p := proxies(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := p.Client(netip.MustParseAddr(tt.peer), lines(tt.xff...))
			if want := netip.MustParseAddr(tt.want); got != want {
				t.Errorf("client is %v, want %v", got, want)
			}
		})
	}
}

// Whatever a client sends to the first proxy, and however the proxies add their
// entries, the client that is found is the same.
func TestWhatTheClientSendsNeverCounts(t *testing.T) {
	p := proxies(t)
	client := netip.MustParseAddr("203.0.113.7")
	sent := rapid.OneOf(
		rapid.StringOf(rapid.SampledFrom([]rune(`1.:,"[]% fx`))),
		rapid.SampledFrom([]string{"127.0.0.1", "8.8.8.8, 9.9.9.9", ",", ",,,", `"1.1.1.1, 2.2.2.2`}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		xff := rapid.SliceOf(sent).Draw(t, "sent by the client")
		add := func(entry string) {
			if last := len(xff) - 1; last >= 0 && rapid.Bool().Draw(t, "same line") {
				xff[last] += ", " + entry
				return
			}
			xff = append(xff, entry)
		}
		add(client.String())
		peer := "10.0.0.1"
		if rapid.Bool().Draw(t, "two hops") {
			add("198.51.100.2")
			peer = "10.2.0.1"
		}
		if got := p.Client(netip.MustParseAddr(peer), lines(xff...)); got != client {
			t.Fatalf("client is %v, want %v; the peer sent %q", got, client, xff)
		}
	})
}

func TestHopsAndPrefixesAreChecked(t *testing.T) {
	for name, proxy := range map[string]Proxy{
		"no hops":       {Prefix: netip.MustParsePrefix("10.0.0.0/8")},
		"negative hops": {Prefix: netip.MustParsePrefix("10.0.0.0/8"), Hops: -1},
		"no prefix":     {Hops: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := NewProxies([]Proxy{proxy}); err == nil || p != nil {
				t.Errorf("got %v and error %v, want only an error", p, err)
			}
		})
	}
}

func TestNoProxiesMeansThePeer(t *testing.T) {
	p, err := NewProxies(nil)
	if err != nil {
		t.Fatal(err)
	}
	peer := netip.MustParseAddr("127.0.0.1")
	if got := p.Client(peer, lines("203.0.113.7")); got != peer {
		t.Errorf("client is %v, want the peer %v", got, peer)
	}
	if got := p.Client(netip.Addr{}, lines("203.0.113.7")); got.IsValid() {
		t.Errorf("client of no peer is %v, want none", got)
	}
}

func TestClientAllocatesNothing(t *testing.T) {
	p := proxies(t)
	peer := netip.MustParseAddr("10.2.0.1")
	xff := lines("1.1.1.1, 2001:db8::1", `"[2001:db8:85a3:1234:5678:8a2e:0370:7334%eth0]:65535" , 198.51.100.2`)
	if got := testing.AllocsPerRun(1000, func() { Key(p.Client(peer, xff), 64) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
