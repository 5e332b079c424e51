package config

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The schema is the Config type itself: its yaml tags are the keys, its types
// say what may stand there. What follows reads it by reflection, once per load.

// keys returns the keys of a group in the order of the schema.
func keys(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

// field returns the value of a key in a group.
func field(group reflect.Value, key string) (reflect.Value, bool) {
	i := slices.Index(keys(group.Type()), key)
	if i < 0 {
		return reflect.Value{}, false
	}
	return group.Field(i), true
}

var textType = reflect.TypeFor[encoding.TextUnmarshaler]()

// isScalar says that a value of this type is one word in YAML.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		return reflect.PointerTo(t).Implements(textType)
	}
	return true
}

// isPlainList says that a value of this type is a list of words.
func isPlainList(t reflect.Type) bool { return t.Kind() == reflect.Slice && isScalar(t.Elem()) }

// blank is what an entry of a list or a map is before its keys are read. Lists
// are empty, never nil, and a new upstream waits as long as the backend's.
func blank(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	if t == reflect.TypeFor[Upstream]() {
		v.Set(reflect.ValueOf(Upstream{Servers: []string{}, Timeout: Default().Upstreams["backend"].Timeout}))
	}
	return v
}

// walk visits the leaves of v in the order of the schema, map entries by key:
// single words, lists of words, and lists and maps that are empty.
func walk(path string, v reflect.Value, visit func(path string, leaf reflect.Value)) {
	switch {
	case v.Kind() == reflect.Struct && !isScalar(v.Type()):
		for i, key := range keys(v.Type()) {
			walk(join(path, key), v.Field(i), visit)
		}
	case v.Kind() == reflect.Map && v.Len() > 0:
		for _, key := range mapKeys(v) {
			walk(join(path, key), v.MapIndex(reflect.ValueOf(key)), visit)
		}
	case v.Kind() == reflect.Slice && !isPlainList(v.Type()) && v.Len() > 0:
		for i := range v.Len() {
			walk(index(path, i), v.Index(i), visit)
		}
	default:
		visit(path, v)
	}
}

func mapKeys(m reflect.Value) []string {
	names := make([]string, 0, m.Len())
	for _, k := range m.MapKeys() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return names
}

// edit calls change with the settable value at path and reports whether there is
// one. Entries of maps are found if they exist; entries of lists are not.
func edit(v reflect.Value, path string, change func(reflect.Value)) bool {
	if path == "" {
		change(v)
		return true
	}
	key, rest, _ := strings.Cut(path, ".")
	switch v.Kind() {
	case reflect.Struct:
		f, known := field(v, key)
		return known && edit(f, rest, change)
	case reflect.Map:
		old := v.MapIndex(reflect.ValueOf(key))
		if !old.IsValid() {
			return false
		}
		entry := reflect.New(v.Type().Elem()).Elem()
		entry.Set(old)
		found := edit(entry, rest, change)
		v.SetMapIndex(reflect.ValueOf(key), entry)
		return found
	}
	return false
}

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// setWord reads text into a scalar. The type of the schema decides what the text
// means, not its looks: a user called 0123 keeps the zero.
func setWord(v reflect.Value, text string) error {
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return &valueError{quote(text) + " is neither true nor false", "write true or false"}
		}
		v.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, strconv.IntSize)
		if err != nil || strconv.FormatInt(n, 10) != text {
			return &valueError{quote(text) + " is not a whole number", "write decimal digits only, e.g. 100"}
		}
		v.SetInt(n)
	case reflect.Float64:
		return setNumber(v, text)
	default:
		panic(fmt.Sprintf("config: no way to read a %s", v.Type())) // a field of a new kind: a fault of this package
	}
	return nil
}

func setNumber(v reflect.Value, text string) error {
	word := strings.TrimLeft(strings.ToLower(text), "+-.")
	if word == "nan" || word == "inf" || word == "infinity" {
		return &valueError{quote(text) + " is not a finite number", "write a number, e.g. 100 or 0.5"}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.MatchString(text) {
		return &valueError{quote(text) + " is not a number", "write a number, e.g. 100 or 0.5"}
	}
	v.SetFloat(n)
	return nil
}
