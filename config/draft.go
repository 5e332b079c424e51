package config

import (
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"
)

// draft is a configuration while its layers are laid over each other. Problems
// are collected, and a value that has one is not judged a second time.
type draft struct {
	config   Config
	origins  origins
	file     string // as it was named; "" for none
	source   []byte
	problems []Problem
	spoilt   map[string]bool // paths that have a problem
	inputs   []input         // the files that were read, in this order
}

func newDraft(file string, source []byte) *draft {
	return &draft{config: Default(), origins: origins{}, file: file, source: source, spoilt: map[string]bool{}}
}

// root is the configuration as a settable value.
func (d *draft) root() reflect.Value { return reflect.ValueOf(&d.config).Elem() }

// report notes a problem of the value at path, which is then not judged again,
// and shows it at the given origin.
func (d *draft) report(at Origin, path, message, hint string) {
	d.spoilt[path] = true
	d.note(at, path, message, hint)
}

// note is report for a problem that leaves the value as good as it was.
func (d *draft) note(at Origin, path, message, hint string) {
	p := Problem{Origin: at, Path: path, Message: message, Hint: hint}
	if at.Source == FromFile {
		p.Excerpt = excerpt(d.source, at.Line, at.Column)
	}
	d.problems = append(d.problems, p)
}

// reportError notes err, with its hint if it has one.
func (d *draft) reportError(at Origin, path string, err error) {
	if v, ok := errors.AsType[*valueError](err); ok {
		d.report(at, path, v.message, v.hint)
		return
	}
	d.report(at, path, err.Error(), "")
}

// sound says that neither these paths nor what they are part of has a problem.
func (d *draft) sound(paths ...string) bool {
	for _, p := range paths {
		if d.spoilt[p] {
			return false
		}
		for parent := range parents(p) {
			if d.spoilt[parent] {
				return false
			}
		}
	}
	return true
}

// setText lays a value from outside the file over the draft: a word, a list of
// words separated by commas, or YAML for anything richer.
func (d *draft) setText(path, text string, from Origin) (known bool) {
	return edit(d.root(), path, func(v reflect.Value) {
		d.origins.forget(path)
		d.origins[path] = from
		switch {
		case !utf8.ValidString(text):
			d.report(from, path, "is not UTF-8 text", "write it as UTF-8")
		case isScalar(v.Type()):
			if err := setWord(v, text); err != nil {
				d.reportError(from, path, err)
			}
		case isPlainList(v.Type()):
			d.setList(path, text, from, v)
		case strings.TrimSpace(text) == "":
			d.report(from, path, "has no value", "write YAML on one line, e.g. [] for an empty list")
		default:
			d.decodeText(path, text, from, v)
		}
	})
}

func (d *draft) setList(path, text string, from Origin, v reflect.Value) {
	words := strings.Split(text, ",")
	if strings.TrimSpace(text) == "" {
		words = nil
	}
	list := reflect.MakeSlice(v.Type(), len(words), len(words))
	for i, word := range words {
		if err := setWord(list.Index(i), strings.TrimSpace(word)); err != nil {
			d.reportError(from, index(path, i), err)
		}
	}
	v.Set(list)
}
