package config

import (
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"200ms": 200 * time.Millisecond, "1m30s": 90 * time.Second, "2h": 2 * time.Hour, "0.5s": 500 * time.Millisecond,
		"0": 0, "-1s": -time.Second,
	} {
		if got, err := ParseDuration(text); err != nil || time.Duration(got) != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, hint := range map[string]string{
		"10": "write a unit, e.g. 200ms", "-1.5": "write a unit, e.g. 200ms", "10 seconds": "without a space", "": "without a space", "1d": "200ms", "9999999h": "200ms",
	} {
		if got, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q is %v, %v, want an error with %q", text, got, err, hint)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "1": 1, "16384": 16 << 10, "16KiB": 16 << 10, "1MiB": 1 << 20, "3GiB": 3 << 30, "8589934591GiB": 8589934591 << 30} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, hint := range map[string]string{
		"16K": "write 16KiB", "16KB": "write 16KiB", "16kib": "write 16KiB", "16 KiB": "write 16KiB", "1m": "write 1MiB", "2G": "write 2GiB",
		"16B": "plain bytes", "16 ": "plain bytes", "1TiB": "GiB", "-1": "whole number", "1.5MiB": "whole number", "": "whole number", "010": "whole number", "1_000": "whole number", "KiB": "whole number",
		"8589934592GiB": "too large", "9223372036854775808": "too large",
	} {
		if got, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q is %v, %v, want an error with %q", text, got, err, hint)
		}
	}
}

func TestUnitsAreWrittenShort(t *testing.T) {
	for want, d := range map[string]time.Duration{"0s": 0, "2h": 2 * time.Hour, "15m": 15 * time.Minute, "1m30s": 90 * time.Second, "10s": 10 * time.Second, "1h0m5s": time.Hour + 5*time.Second, "500ms": time.Second / 2, "1h1m": 61 * time.Minute} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
	for want, s := range map[string]Size{"0": 0, "1000": 1000, "1KiB": 1 << 10, "1537": 1537, "1536KiB": 1536 << 10, "2MiB": 2 << 20, "1GiB": 1 << 30} {
		if got := s.String(); got != want {
			t.Errorf("%d is written %s, want %s", int64(s), got, want)
		}
	}
}

func TestUnitsReadWhatTheyWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64().Draw(t, "nanoseconds"))
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Errorf("%s reads as %v, %v", d, got, err)
		}
		s := Size(rapid.Int64Min(0).Draw(t, "bytes"))
		if got, err := ParseSize(s.String()); err != nil || got != s {
			t.Errorf("%s reads as %v, %v", s, got, err)
		}
	})
}

// The types also work for callers who hand a Config to a YAML library.
func TestUnitsInYAML(t *testing.T) {
	type both struct {
		D Duration `yaml:"d"`
		S Size     `yaml:"s"`
	}
	want := both{D: Duration(90 * time.Second), S: 16 << 10}
	text, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != "d: 1m30s\ns: 16KiB\n" {
		t.Errorf("written as %q", text)
	}
	for _, source := range []string{string(text), "d: 90s\ns: 16384\n"} {
		var got both
		if err := yaml.Unmarshal([]byte(source), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", source, diff)
		}
	}
	var got both
	if err := yaml.Unmarshal([]byte("d: 10\n"), &got); err == nil {
		t.Errorf("a bare number is read as %v", got.D)
	}
}
