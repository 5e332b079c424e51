package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// validator judges every value of a draft. A rule about two keys is told at the
// one that was stated, and only if neither has a problem of its own.
type validator struct {
	*draft
	c *Config
}

// validate reports every rule that the draft breaks, section by section in the
// order of the schema.
func validate(d *draft) {
	v := validator{draft: d, c: &d.config}
	v.listeners()
	v.paths()
	v.server()
	v.trust()
	v.redis()
	v.sql()
	v.tickets()
	v.upstreams()
	v.routes()
	v.limits()
	v.blacklist()
	v.breaker()
	v.lock()
	v.sales()
	v.log()
}

// refuse reports a problem of path, unless it has one already.
func (v validator) refuse(path, message, hint string) {
	if v.sound(path) {
		v.report(v.origins.locate(path), path, message, hint)
	}
}

// check reports err, if there is one, as a problem of path.
func (v validator) check(path string, err error) {
	if err != nil && v.sound(path) {
		v.reportError(v.origins.locate(path), path, err)
	}
}

// between reports a rule that path breaks together with other. The place shown is
// path's if it was stated, else other's.
func (v validator) between(broken bool, path, other, message, hint string) {
	if broken && v.sound(path, other) {
		v.report(v.origins.locate(path, other), path, message, hint)
	}
}

// named writes a value with its path and, where it was not stated next to the
// problem, where it comes from.
func (v validator) named(path string, value any) string {
	return fmt.Sprintf("%s, which is %v (%s)", path, value, v.origins[path])
}

// longest is the longest time span that makes sense, so that a deadline in
// nanoseconds can't overflow.
const longest = Duration(365 * 24 * time.Hour)

func (v validator) positive(path string, d Duration) {
	switch {
	case d <= 0:
		v.refuse(path, d.String()+" is not longer than zero", "write a positive time span, e.g. 200ms")
	case d > longest:
		v.refuse(path, d.String()+" is longer than a year", "write at most 8760h")
	}
}

func (v validator) within(path string, n, least, most int) {
	if n < least || n > most {
		v.refuse(path, fmt.Sprintf("%d is out of range", n), fmt.Sprintf("write a whole number from %d to %d", least, most))
	}
}

func (v validator) size(path string, s, least, most Size) {
	if s < least || s > most {
		v.refuse(path, fmt.Sprintf("%s is out of range", s), fmt.Sprintf("write a size from %s to %s", least, most))
	}
}

// word checks one of a few words. later are words that other versions know, and
// what to write in this one.
func (v validator) word(path, got string, known []string, later map[string]string) {
	if slices.Contains(known, got) {
		return
	}
	if hint, ok := later[got]; ok {
		v.refuse(path, quote(got)+" is not in this version", hint)
		return
	}
	v.refuse(path, fmt.Sprintf("%s is not one of: %s", quote(got), strings.Join(known, ", ")), instead(got, known))
}

// id checks the name of an item, a key or an upstream.
func (v validator) id(path, id string, most int) {
	if id == "" || len(id) > most || strings.ContainsFunc(id, func(r rune) bool { return !isNameRune(r) }) {
		v.refuse(path, quote(id)+" is not an id", fmt.Sprintf("write 1 to %d letters, digits, _ or -", most))
	}
}

// text checks a value that goes to the operating system or a driver as it is.
func (v validator) text(path, text string) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		v.refuse(path, "contains a control character", "write it on one line")
	}
}

func (v validator) networks(path string, list []string) {
	for i, n := range list {
		v.check(index(path, i), network(n))
	}
}

// readable reads a file that is named, and reports it if it can't be read. ok
// says that there is a file to judge further.
func (v validator) readable(path, name string, most int64) (content []byte, ok bool) {
	v.text(path, name)
	if name == "" || !v.sound(path) {
		return nil, false
	}
	content, err := v.read(path, name, most)
	if err != nil {
		v.refuse(path, fmt.Sprintf("%s cannot be read: %v", quote(name), err), "name a file that this process may read; a relative name starts at the working directory")
		return nil, false
	}
	return content, true
}

// secret is readable for a file that [ReadSecret] reads.
func (v validator) secret(path, name string) (secret []byte, ok bool) {
	content, ok := v.readable(path, name, maxSecret)
	return trimLine(content), ok
}

func (v validator) log() {
	v.word("log.level", v.c.Log.Level, []string{"debug", "info", "warn", "error"}, nil)
	v.word("log.format", v.c.Log.Format, []string{"text", "json"}, nil)
}
