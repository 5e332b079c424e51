package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// valueError says why a value cannot be honoured, and what to write instead.
type valueError struct{ message, hint string }

func (m *valueError) Error() string {
	if m.hint == "" {
		return m.message
	}
	return m.message + "; " + m.hint
}

var bareNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)

// ParseDuration reads a time span such as "200ms", "1m30s" or "2h", in the
// syntax of [time.ParseDuration]. A number without a unit is refused, since
// half of its readers would take it for seconds and half for milliseconds; 0
// needs none.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err == nil:
		return Duration(d), nil
	case bareNumber.MatchString(text):
		return 0, &valueError{quote(text) + " has no unit", "write a unit, e.g. 200ms"}
	}
	return 0, &valueError{quote(text) + " is not a duration", "write a number and its unit without a space, e.g. 200ms, 10s, 15m or 2h"}
}

// String writes d without empty parts: "2h", never "2h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes d as [Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDuration] reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// units of a Size, the largest first, as IEC 80000-13 names them. KB and K are
// left out: they mean 1000 to some and 1024 to others.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

var sizeShape = regexp.MustCompile(`^(0|[1-9][0-9]*)(\s*[A-Za-z]*)$`)

// ParseSize reads a number of bytes: a whole number, alone or followed by KiB,
// MiB or GiB.
func ParseSize(text string) (Size, error) {
	parts := sizeShape.FindStringSubmatch(text)
	if parts == nil {
		return 0, &valueError{quote(text) + " is not a size", "write a whole number of bytes, or of KiB, MiB or GiB, e.g. 16KiB"}
	}
	number, unit := parts[1], parts[2]
	factor := int64(1)
	if unit != "" {
		u := matchUnit(strings.TrimSpace(unit))
		if u < 0 {
			return 0, &valueError{quote(text) + " is not a size", "write plain bytes, or KiB, MiB or GiB, e.g. 16KiB"}
		}
		if unit != units[u].name {
			return 0, &valueError{quote(text) + " is not a size", "write " + number + units[u].name + " (units of 1024), or plain bytes"}
		}
		factor = units[u].bytes
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, &valueError{quote(text) + " is too large", "write a smaller one, e.g. 1MiB"}
	}
	return Size(n * factor), nil
}

// matchUnit returns the unit that name means or resembles, -1 for none.
func matchUnit(name string) int {
	for i, u := range units {
		if name != "" && strings.EqualFold(name[:1], u.name[:1]) && len(name) <= len(u.name) {
			return i
		}
	}
	return -1
}

// String writes s in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && int64(s)%u.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s)/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes s as [Size.String] does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what [ParseSize] reads.
func (s *Size) UnmarshalText(text []byte) error {
	parsed, err := ParseSize(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// quote shows a value in a message: control characters escaped, and not more of
// it than a reader needs to recognise it.
func quote(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(text)
}
