package config

import (
	"errors"
	"testing"
)

// hintOf returns the hint of a *valueError, "" for a value that is right.
func hintOf(t *testing.T, err error) string {
	t.Helper()
	var m *valueError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &m):
		t.Fatalf("error is %T, want *valueError: %v", err, err)
	}
	return m.hint
}

func TestAddresses(t *testing.T) {
	const (
		brackets = "write host:port, e.g. :8080; an IPv6 address stands in brackets, e.g. [::1]:8080"
		noHost   = "write e.g. 127.0.0.1, [::1] or a name"
	)
	for _, test := range []struct {
		name string
		rule func(string) error
		text string
		hint string // "" for a right value
	}{
		{"listen", listenAddress, ":8080", ""},
		{"listen", listenAddress, "127.0.0.1:0", ""},
		{"listen", listenAddress, "[::]:65535", ""},
		{"listen", listenAddress, "[fe80::1%eth0]:80", ""},
		{"listen", listenAddress, "localhost:80", ""},
		{"listen", listenAddress, "::1", "write a port too, e.g. [::1]:8080"},
		{"listen", listenAddress, "host:80:90", brackets},
		{"listen", listenAddress, "", brackets},
		{"listen", listenAddress, ":http", "write host:port, e.g. :8080"},
		{"listen", listenAddress, ":-1", "write host:port, e.g. :8080"},
		{"listen", listenAddress, "a b:80", noHost},
		{"listen", listenAddress, "a..b:80", noHost},
		{"listen", listenAddress, "-a:80", noHost},
		{"listen", listenAddress, "10.0.1:80", noHost},
		{"listen", listenAddress, "10.0.0.256.:80", noHost},
		{"server", serverAddress, "shop_2.internal:8080", ""},
		{"server", serverAddress, "xn--fiqs8s.example.:80", ""},
		{"server", serverAddress, "http://shop/path", "write host:port without http://, e.g. shop:80"},
		{"server", serverAddress, "http://shop:81/path", "write host:port without http://, e.g. shop:81"},
		{"server", serverAddress, "unix:///run/shop", "write host:port; upstreams speak plain http in this version"},
		{"network", network, "10.0.0.0/8", ""},
		{"network", network, "0.0.0.0/0", ""},
		{"network", network, "2001:db8::7", ""},
		{"network", network, "2001:db8::7/32", "write 2001:db8::/32 for the network, or 2001:db8::7 for the one address"},
		{"network", network, "::ffff:0:0/90", "write the IPv4 network, e.g. 10.0.0.0/8"},
		{"network", network, "::ffff:10.1.2.3/128", "write 10.1.2.3/32"},
		{"network", network, "fe80::1%eth0/64", "write e.g. 10.0.0.0/8, 192.168.1.7 or 2001:db8::/32"},
		{"network", network, "10.0.0", "write e.g. 10.0.0.0/8, 192.168.1.7 or 2001:db8::/32"},
		{"network", network, "010.0.0.1", "write e.g. 10.0.0.0/8, 192.168.1.7 or 2001:db8::/32"},
	} {
		if got := hintOf(t, test.rule(test.text)); got != test.hint {
			t.Errorf("%s %q: hint %q, want %q", test.name, test.text, got, test.hint)
		}
	}
}

// What counts as loopback is reachable without a token.
func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:9090": true, "127.9.9.9:0": true, "[::1]:9090": true, "localhost:9090": true, "[::ffff:127.0.0.1]:1": true,
		":9090": false, "0.0.0.0:9090": false, "[::]:9090": false, "10.0.0.1:9090": false, "localhost.example:1": false, "nonsense": false,
	} {
		if got := isLoopback(listen); got != want {
			t.Errorf("%s is loopback: %v, want %v", listen, got, want)
		}
	}
}

func TestListenersThatCollide(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{":8080", ":8080", true},
		{":8080", "127.0.0.1:8080", true},
		{"10.0.0.1:8080", "[::]:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:8080", "127.0.0.2:8080", false},
		{":8080", ":8081", false},
		{":0", ":0", false},
		{"x", "x", false},
	} {
		if got := collide(test.a, test.b); got != test.want {
			t.Errorf("%s and %s collide: %v, want %v", test.a, test.b, got, test.want)
		}
	}
}
