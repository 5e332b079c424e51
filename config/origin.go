package config

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Source is a layer that a value can come from. A later one wins.
type Source uint8

// The layers, weakest first.
const (
	FromDefault Source = iota
	FromFile
	FromEnv
	FromFlag
)

// Origin says where a value comes from. The zero value is the default.
type Origin struct {
	Source Source
	Name   string // the file as it was named, or the variable; "" otherwise
	Line   int    // in the file, from 1; 0 where the file has no such value
	Column int    // in characters, from 1
}

// String writes "default", "rushgate.yaml:12", "env RUSHGATE_LISTEN" or "flag".
func (o Origin) String() string {
	switch o.Source {
	case FromDefault:
		return "default"
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case FromEnv:
		return "env " + o.Name
	case FromFlag:
		return "flag"
	}
	return ""
}

// origins holds where each value that was stated stands, by its path. Groups and
// lists are noted as well as leaves, so that a missing key can be shown at its
// parent.
type origins map[string]Origin

// forget drops all that lies below path: the entries of a list that is replaced.
func (o origins) forget(path string) {
	for p := range o {
		if rest, below := strings.CutPrefix(p, path); below && rest != "" && (rest[0] == '.' || rest[0] == '[') {
			delete(o, p)
		}
	}
}

// locate finds the best place to show for a problem of paths, the most important
// first: a value that was stated, or else the nearest parent of one.
func (o origins) locate(paths ...string) Origin {
	for _, p := range paths {
		if at, stated := o[p]; stated {
			return at
		}
	}
	for _, p := range paths {
		for parent := range parents(p) {
			if at, stated := o[parent]; stated {
				return at
			}
		}
	}
	return Origin{}
}

// parents yields the paths above path, the nearest first.
func parents(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(path) - 1; i > 0; i-- {
			if (path[i] == '.' || path[i] == '[') && !yield(path[:i]) {
				return
			}
		}
	}
}

// join appends a key to a path: "limits" and "ip" make "limits.ip". A key that
// would make the path ambiguous is quoted in brackets.
func join(path, key string) string {
	switch {
	case !plainKey(key):
		return path + "[" + quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// index is the path of an entry of a list.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func plainKey(key string) bool {
	for _, r := range key {
		if !isNameRune(r) {
			return false
		}
	}
	return key != ""
}

// isNameRune says whether r may stand in an id or a key.
func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
