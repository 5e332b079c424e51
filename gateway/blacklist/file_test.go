package blacklist

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const list = "\ufeffuser first\n" + `
# bots of last week
user mallory
user	a#b   # a name may hold the sign itself
ip 192.0.2.7
  ip 2001:db8::/32	# a data centre
#user ann
` + "user last\r\n" + "ip 10.0.0.0/8"
	users, ips, err := Parse(strings.NewReader(list), "list.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first", "mallory", "a#b", "last"}, users); diff != "" {
		t.Errorf("users (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"192.0.2.7", "2001:db8::/32", "10.0.0.0/8"}, ips); diff != "" {
		t.Errorf("ips (-want +got)\n%s", diff)
	}
}

func TestErrorsNameTheLineAndTheRemedy(t *testing.T) {
	tests := map[string]struct{ list, want string }{
		"unknown word":     {"user ann\n\nhost x", `list.txt:3: unknown word "host": write "user NAME" or "ip CIDR"`},
		"value missing":    {"user", `list.txt:1: write "user NAME"`},
		"value in comment": {"user # ann", `list.txt:1: write "user NAME"`},
		"too many values":  {"# two\nip 10.0.0.1 10.0.0.2", `list.txt:2: write "user NAME"`},
		"capital":          {"User ann", `list.txt:1: unknown word "User"`},
		"control byte":     {"user ann\x00", `list.txt:1: user "ann\x00": write the user's name`},
		"bad address":      {"ip 10.0.0", `list.txt:1: ip "10.0.0": write an address such as`},
		"bad CIDR":         {"ip 10.0.0.0/40", `list.txt:1: ip "10.0.0.0/40": write an address such as`},
		"long line":        {"user ann\nuser " + strings.Repeat("x", 1<<17), `list.txt:2: line is longer than 65536 bytes`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			users, ips, err := Parse(strings.NewReader(tt.list), "list.txt")
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
			if users != nil || ips != nil {
				t.Errorf("got %v and %v beside the error, want nothing", users, ips)
			}
		})
	}
}

func TestBrokenReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	if _, _, err := Parse(iotest.ErrReader(broken), "list.txt"); !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
}

func TestLoadJoinsConfigurationAndFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(file, []byte("user bob\nip 192.0.2.0/24\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load([]string{"ann"}, []string{"198.51.100.1"}, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"ann", "bob"} {
		if !s.HasUser(user) {
			t.Errorf("%s is not on the list", user)
		}
	}
	for _, addr := range []string{"192.0.2.9", "198.51.100.1"} {
		if !s.HasAddr(netip.MustParseAddr(addr)) {
			t.Errorf("%s is not on the list", addr)
		}
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	s, err := Load([]string{"ann"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if !s.HasUser("ann") || s.HasUser("bob") {
		t.Error("the list is not what was given")
	}
}

// A list that can't be read must not pass for an empty one.
func TestUnreadableListIsNotEmpty(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.txt")
	if s, err := Load(nil, nil, missing); s != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v and error %v, want no set and %v", s, err, fs.ErrNotExist)
	}
	busted := filepath.Join(t.TempDir(), "busted.txt")
	if err := os.WriteFile(busted, []byte("user ann\nnobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(nil, nil, busted); s != nil || err == nil || !strings.Contains(err.Error(), busted+":2:") {
		t.Errorf("got %v and error %v, want no set and the line", s, err)
	}
}
