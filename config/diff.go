package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Change is one value that two configurations differ in.
type Change struct {
	Path string // of a single value, or of a list of words; e.g. limits.items.1001.qps
	// Old and New are the values as Show writes them, passwords masked and long
	// ones cut. "" where there is none on that side: a text that is empty is
	// written "" in quotes.
	Old, New string
	Origin   Origin // where the new value comes from; of a value that is gone, its nearest parent's
}

// String writes "limits.user.qps: 5 → 10".
func (c Change) String() string {
	none := func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	return c.Path + ": " + none(c.Old) + " → " + none(c.New)
}

// Diff returns what differs between two configurations in the order of the
// schema, entries of maps by key and of lists by position. A file that a value
// names and whose contents differ, under the same name, is a Change of that
// value's path to "(contents changed)".
func Diff(from, to *Loaded) []Change {
	d := differ{from: from, to: to}
	d.compare("", reflect.ValueOf(from.Config), reflect.ValueOf(to.Config))
	return d.changes
}

type differ struct {
	from, to *Loaded
	changes  []Change
}

// compare notes what differs below path. One of a and b may be the zero Value:
// what is not there on that side.
func (d *differ) compare(path string, a, b reflect.Value) {
	t := b
	if !b.IsValid() {
		t = a
	}
	switch {
	case isScalar(t.Type()) || isPlainList(t.Type()):
		d.leaf(path, a, b)
	case t.Kind() == reflect.Struct:
		for i, key := range keys(t.Type()) {
			d.compare(join(path, key), part(a, func() reflect.Value { return a.Field(i) }), part(b, func() reflect.Value { return b.Field(i) }))
		}
	case t.Kind() == reflect.Map:
		for _, key := range allKeys(a, b) {
			k := reflect.ValueOf(key)
			d.compare(join(path, key), part(a, func() reflect.Value { return a.MapIndex(k) }), part(b, func() reflect.Value { return b.MapIndex(k) }))
		}
	default:
		for i := range max(length(a), length(b)) {
			d.compare(index(path, i), entryAt(a, i), entryAt(b, i))
		}
	}
}

func part(of reflect.Value, get func() reflect.Value) reflect.Value {
	if !of.IsValid() {
		return reflect.Value{}
	}
	return get()
}

func length(v reflect.Value) int {
	if !v.IsValid() {
		return 0
	}
	return v.Len()
}

func entryAt(list reflect.Value, i int) reflect.Value {
	if i >= length(list) {
		return reflect.Value{}
	}
	return list.Index(i)
}

func allKeys(a, b reflect.Value) []string {
	var all []string
	for _, m := range []reflect.Value{a, b} {
		if m.IsValid() {
			all = append(all, mapKeys(m)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d *differ) leaf(path string, a, b reflect.Value) {
	c := Change{Path: path, Origin: d.to.origins.locate(path)}
	switch {
	case !a.IsValid():
		c.New = shown(path, b)
	case !b.IsValid():
		c.Old = shown(path, a)
	case isPlainList(b.Type()):
		if sameWords(a, b) {
			return
		}
		c.Old, c.New = lists(wordsOf(path, a), wordsOf(path, b))
	case !a.Equal(b):
		c.Old, c.New = shown(path, a), shown(path, b)
		if c.Old == c.New { // masked or cut to the same
			c.New += " (changed)"
		}
	case d.contentsDiffer(path):
		c.Old, c.New = shown(path, a), "(contents changed)"
	default:
		return
	}
	d.changes = append(d.changes, c)
}

func sameWords(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !a.Index(i).Equal(b.Index(i)) {
			return false
		}
	}
	return true
}

func (d *differ) contentsDiffer(path string) bool {
	return apart(d.from.inputs, path) != apart(d.to.inputs, path)
}

// apart is the state of the file that the value at path names.
func apart(inputs []input, path string) fileState {
	for _, in := range inputs {
		if in.apart && in.path == path {
			return in.state
		}
	}
	return fileState{}
}

// Bounds of what a Change shows: a line of a log is read by somebody.
const (
	mostShown   = 120 // characters of a value
	mostEntries = 8   // of a list
)

var masked = printer{mask: true}

func shown(path string, v reflect.Value) string {
	if isPlainList(v.Type()) {
		_, text := lists(nil, wordsOf(path, v))
		return text
	}
	return cut(masked.word(path, v))
}

func wordsOf(path string, list reflect.Value) []string {
	words := make([]string, list.Len())
	for i := range words {
		words[i] = cut(masked.word(index(path, i), list.Index(i)))
	}
	return words
}

func cut(text string) string {
	if r := []rune(text); len(r) > mostShown {
		return string(r[:mostShown]) + "…"
	}
	return text
}

// lists shows two lists as a whole, or what came and went where they are long.
func lists(a, b []string) (before, after string) {
	if len(a) <= mostEntries && len(b) <= mostEntries {
		return "[" + strings.Join(a, ", ") + "]", "[" + strings.Join(b, ", ") + "]"
	}
	came, went := without(b, a), without(a, b)
	after = fmt.Sprintf("%d entries", len(b))
	if len(came)+len(went) > 0 {
		after += ":" + some("+", came) + some("-", went)
	} else {
		after += " in another order"
	}
	return fmt.Sprintf("%d entries", len(a)), after
}

func without(list, others []string) []string {
	known := make(map[string]bool, len(others))
	for _, o := range others {
		known[o] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return known[s] })
}

func some(sign string, list []string) string {
	var b strings.Builder
	for _, s := range list[:min(len(list), mostEntries)] {
		b.WriteString(" " + sign + s)
	}
	if more := len(list) - mostEntries; more > 0 {
		fmt.Fprintf(&b, " %s%d more", sign, more)
	}
	return b.String()
}
