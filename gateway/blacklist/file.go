package blacklist

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

var (
	errPrefix  = errors.New("write an address such as 192.0.2.7, or a CIDR such as 192.0.2.0/24 or 2001:db8::/32, without a zone")
	errUser    = errors.New("write the user's name in one word, as it comes with requests")
	errLine    = errors.New(`write "user NAME" or "ip CIDR", one a line; # starts a comment`)
	errTooLong = fmt.Errorf("line is longer than %d bytes: %w", bufio.MaxScanTokenSize, errLine)
)

// Parse reads a list: one "user NAME" or "ip CIDR" a line, where the CIDR may be
// a plain address. A # at the start of a line, or after a space, begins a
// comment; empty lines are skipped. Every entry is checked, and the first error
// says name:line and what to write instead.
func Parse(r io.Reader, name string) (users, ips []string, err error) {
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		kind, value, err := parseLine(lines.Text())
		if err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		switch kind {
		case "user":
			users = append(users, value)
		case "ip":
			ips = append(ips, value)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, nil, fmt.Errorf("%s:%d: %w", name, n+1, errTooLong)
	case err != nil:
		return nil, nil, fmt.Errorf("reading %s after line %d: %w", name, n, err)
	}
	return users, ips, nil
}

// Load returns the set of these users and addresses together with those of the
// file; file "" means none. A file that can't be read is an error: a list that
// is silently empty would let in whom it names.
func Load(users, ips []string, file string) (*Set, error) {
	if file == "" {
		return New(users, ips)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("blacklist: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	moreUsers, moreIPs, err := Parse(f, file)
	if err != nil {
		return nil, fmt.Errorf("blacklist: %w", err)
	}
	return New(slices.Concat(users, moreUsers), slices.Concat(ips, moreIPs))
}

// parseLine returns kind "" for a line that says nothing.
func parseLine(line string) (kind, value string, err error) {
	fields := strings.Fields(strings.TrimPrefix(line, "\ufeff")) // a mark that some editors put first
	if i := slices.IndexFunc(fields, func(f string) bool { return f[0] == '#' }); i >= 0 {
		fields = fields[:i]
	}
	if len(fields) == 0 {
		return "", "", nil
	}
	if len(fields) != 2 {
		return "", "", errLine
	}
	kind, value = fields[0], fields[1]
	switch kind {
	case "user":
		if err := checkUser(value); err != nil {
			return "", "", fmt.Errorf("user %q: %w", value, err)
		}
		return kind, value, nil
	case "ip":
		if _, err := parsePrefix(value); err != nil {
			return "", "", fmt.Errorf("ip %q: %w", value, err)
		}
		return kind, value, nil
	default:
		return "", "", fmt.Errorf("unknown word %q: %w", kind, errLine)
	}
}

func checkUser(user string) error {
	if user == "" || strings.ContainsFunc(user, isSpaceOrControl) {
		return errUser
	}
	return nil
}

// isSpaceOrControl: no user's name contains such a byte, so an entry that does
// is a slip of the pen that would refuse nobody.
func isSpaceOrControl(r rune) bool { return r <= ' ' || r == 0x7f }
