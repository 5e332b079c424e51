package config

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Origin  Origin // of the value, or of the nearest parent of one that is missing
	Path    string // of the key, e.g. limits.ip.qps; "" where no key is meant
	Message string
	Hint    string // what to write instead; may be ""
	Excerpt string // the line of the file and a caret below, both with a newline; may be ""
}

// String is the first line of the report: file:line:col, path and message.
func (p Problem) String() string {
	head := "configuration"
	switch o := p.Origin; {
	case o.Source == FromFlag:
		head = "flag"
	case o.Line > 0:
		head = fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	case o.Name != "":
		head = o.Name
	}
	if p.Path != "" {
		head += ": " + p.Path
	}
	return head + ": " + p.Message
}

// Error is everything that is wrong with a configuration, in the order of the
// file; variables and flags come last. There is at least one Problem.
type Error struct {
	Problems []Problem

	inputs []input // what was read, and may be put right
}

// Error is the first problem on one line, and the number of the others.
func (e *Error) Error() string {
	first := e.Problems[0].String()
	if more := len(e.Problems) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", first, more)
	}
	return first
}

// Render writes every problem for a person to read, with the source line and a
// hint, and a blank line between two. Passwords in the source are masked. The
// error is the writer's.
func (e *Error) Render(w io.Writer) error {
	var b bytes.Buffer
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String() + "\n" + p.Excerpt)
		if p.Hint != "" {
			b.WriteString("hint: " + p.Hint + "\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// sortProblems puts what has a place in the file first, in the file's order.
func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Origin.Source, b.Origin.Source),
			cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Origin.Column, b.Origin.Column),
			cmp.Compare(a.Origin.Name, b.Origin.Name),
		)
	})
}

// excerpt shows a line of the source with a caret below a column, both counted
// from 1, the column in characters.
func excerpt(source []byte, line, column int) string {
	lines := strings.Split(string(source), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	text := []rune(maskLine(printable(lines[line-1])))
	at := min(max(column-1, 0), len(text))
	from := max(at-60, 0)
	to := min(at+60, len(text))
	gutter := fmt.Sprintf("%5d | ", line)
	return strings.TrimRight(gutter+string(text[from:to]), " ") + "\n" +
		strings.Repeat(" ", len(gutter)-2) + "| " + strings.Repeat(" ", width(text[from:at])) + "^\n"
}

// printable keeps the number of characters and takes away those that move a
// cursor: an excerpt ends on a terminal.
func printable(line string) string {
	line = strings.TrimPrefix(strings.TrimSuffix(line, "\r"), "\ufeff")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, line)
}

// width is the number of terminal cells that text takes: two for the wide
// characters of Unicode's UAX #11 that occur in practice, one for others.
func width(text []rune) int {
	n := len(text)
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
			r >= 0x3000 && r <= 0x303F || r >= 0xFF01 && r <= 0xFF60 {
			n++
		}
	}
	return n
}
