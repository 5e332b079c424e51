package config

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

// secrets are the keys whose values are masked, and how.
var secrets = map[string]func(string) string{"sql.dsn": maskDSN}

// Show writes the effective configuration with the origin of every value, and
// passwords masked.
//
// Format "yaml" (or "") is a configuration again: loading it gives the same
// Config, but for masked values. Format "json" is one object with hash, file and
// values, a list of path, value and origin in the order of the schema. Any other
// format is an error, as is a writer that fails.
func (l *Loaded) Show(w io.Writer, format string) error {
	switch format {
	case "", "yaml":
		return l.showYAML(w)
	case "json":
		return l.showJSON(w)
	}
	return fmt.Errorf("unknown format %s: write yaml or json", quote(format))
}

func (l *Loaded) showYAML(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p := printer{w: tw, mask: true, comment: func(path string) string {
		return "\t# " + printable(l.Origin(path).String())
	}}
	p.group("", "", reflect.ValueOf(l.Config))
	return tw.Flush()
}

type shownValue struct {
	Path   string `json:"path"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

func (l *Loaded) showJSON(w io.Writer) error {
	out := struct {
		Hash   string       `json:"hash"`
		File   string       `json:"file"`
		Values []shownValue `json:"values"`
	}{Hash: l.Hash, File: l.File}
	walk("", reflect.ValueOf(l.Config), func(path string, v reflect.Value) {
		value := v.Interface()
		if mask, secret := secrets[path]; secret {
			value = mask(v.String())
		}
		out.Values = append(out.Values, shownValue{path, value, l.Origin(path).String()})
	})
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// effective is c as YAML, unmasked and without comments: one text for one
// configuration.
func effective(c Config) string {
	var b bytes.Buffer
	p := printer{w: &b, comment: func(string) string { return "" }}
	p.group("", "", reflect.ValueOf(c))
	return b.String()
}

// printer writes YAML that the decoder reads back. It is not the library's
// encoder because every leaf needs a comment and plain words must not turn into
// numbers.
type printer struct {
	w       io.Writer // never fails, or remembers that it did
	mask    bool
	comment func(path string) string
}

func (p printer) group(path, indent string, v reflect.Value) {
	for i, name := range keys(v.Type()) {
		p.pair(join(path, name), indent+name+":", indent, v.Field(i))
	}
}

// pair writes one key and its value; head is the key with its indentation.
func (p printer) pair(path, head, indent string, v reflect.Value) {
	deeper := indent + "  "
	switch {
	case isScalar(v.Type()):
		p.leaf(path, head, p.word(path, v))
	case isPlainList(v.Type()) || v.Kind() == reflect.Slice && v.Len() == 0:
		p.leaf(path, head, p.words(path, v))
	case v.Kind() == reflect.Slice:
		fmt.Fprintln(p.w, head)
		for i := range v.Len() {
			p.entry(index(path, i), deeper, v.Index(i))
		}
	case v.Kind() == reflect.Map && v.Len() == 0:
		p.leaf(path, head, "{}")
	case v.Kind() == reflect.Map:
		fmt.Fprintln(p.w, head)
		for _, key := range mapKeys(v) {
			p.pair(join(path, key), deeper+yamlWord(key)+":", deeper, v.MapIndex(reflect.ValueOf(key)))
		}
	default:
		fmt.Fprintln(p.w, head)
		p.group(path, deeper, v)
	}
}

// entry writes a group as an entry of a list, its first key after the dash.
func (p printer) entry(path, indent string, v reflect.Value) {
	mark := "- "
	for i, name := range keys(v.Type()) {
		p.pair(join(path, name), indent+mark+name+":", indent+"  ", v.Field(i))
		mark = "  "
	}
}

func (p printer) leaf(path, head, value string) {
	fmt.Fprintln(p.w, head+" "+value+p.comment(path))
}

func (p printer) words(path string, v reflect.Value) string {
	list := make([]string, v.Len())
	for i := range list {
		list[i] = p.word(index(path, i), v.Index(i))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (p printer) word(path string, v reflect.Value) string {
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	switch v.Kind() {
	case reflect.String:
		if mask, secret := secrets[path]; secret && p.mask {
			return yamlWord(mask(v.String()))
		}
		return yamlWord(v.String())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

var plainWord = regexp.MustCompile(`^[a-z][a-z_/-]*$`)

// yamlWord writes text so that every YAML reader takes it for text, also those
// of YAML 1.1, for whom y and off are truth values. The escapes of
// [strconv.Quote] are a subset of YAML's for text that is UTF-8.
func yamlWord(text string) string {
	switch text {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(text)
	}
	if plainWord.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}
