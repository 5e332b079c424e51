package proxy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRuleNamesFit(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules {
		if len(r.name) >= longestName || seen[r.name] || r.name != strings.ToLower(r.name) || strings.Contains(r.name, "_") {
			t.Errorf("%q: names are lower case, short, without underscore, and stand once", r.name)
		}
		seen[r.name] = true
		if r.rule == 0 {
			t.Errorf("%q has no rule", r.name)
		}
	}
}

// TestRuleOf: case and underscores never change what is done with a field, only
// whether it is read.
func TestRuleOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(rules).Draw(t, "rule")
		name := []byte(strings.TrimSuffix(r.name, "*"))
		if len(name) < len(r.name) {
			name = append(name, rapid.StringMatching(`[a-z-]{0,60}`).Draw(t, "rest")...)
		}
		underscored := false
		for i, c := range name {
			switch {
			case c == '-' && rapid.Bool().Draw(t, "underscore"):
				name[i], underscored = '_', true
			case 'a' <= c && c <= 'z' && rapid.Bool().Draw(t, "upper"):
				name[i] -= 'a' - 'A'
			}
		}
		want := r.rule
		if underscored {
			want &^= read
		}
		if got := ruleOf(name); got != want {
			t.Fatalf("ruleOf(%q) = %b, want %b", name, got, want)
		}
	})
	for _, name := range []string{"", "x-user-i", "x-user-idx", "x-user", "forwarded-for", "rushgate", "accept", "xuserid", "x--user-id", strings.Repeat("x", 100), "proxy-connection-" + strings.Repeat("x", 30)} {
		if r := ruleOf([]byte(name)); r != 0 {
			t.Errorf("ruleOf(%q) = %b, want none", name, r)
		}
	}
}
