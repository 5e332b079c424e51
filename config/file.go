package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile   = 1 << 20 // bytes of a configuration: some twenty thousand items with limits of their own
	maxSecret = 64 << 10
	maxDepth  = 32 // levels of brackets or dashes; the schema has five, and the parser's time grows with their square
)

// readBounded reads a regular file that may not be larger than most bytes; a
// pipe or a device could keep a reload waiting for ever. Its errors leave the
// name out, since a Problem tells it.
func readBounded(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, withoutName(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, withoutName(err)
	}
	defer func() { _ = f.Close() }() // nothing was written that it could lose
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, withoutName(err)
	case int64(len(b)) > most:
		return nil, fmt.Errorf("larger than %d bytes", most)
	}
	return b, nil
}

func withoutName(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// decodeFile lays the file over the defaults. It reports whether the file could
// be parsed; if not, there is nothing to validate.
func (d *draft) decodeFile() bool {
	place := func(tok *token.Token) Origin {
		o := Origin{Source: FromFile, Name: d.file}
		if tok != nil && tok.Position != nil {
			o.Line, o.Column = tok.Position.Line, tok.Position.Column
		}
		return o
	}
	return d.decodeDocument("", string(bytes.TrimPrefix(d.source, []byte("\ufeff"))), place, d.root())
}

// decodeText lays YAML from a variable or flag over the value at path.
func (d *draft) decodeText(path, text string, from Origin, v reflect.Value) {
	d.decodeDocument(path, text, func(*token.Token) Origin { return from }, v)
}

// tabs makes the parser's word on a stray tab visible.
var tabs = strings.NewReplacer("\t", `\t`, "\n", " ")

func (d *draft) decodeDocument(path, text string, place func(*token.Token) Origin, v reflect.Value) bool {
	dec := decoder{draft: d, place: place}
	if at, ok := firstInvalid(text); !ok {
		dec.fail(at, path, "is not UTF-8 text", "save the file as UTF-8")
		return false
	}
	docs, tok, err := parse(text)
	if err != nil {
		dec.fail(tok, path, "is not YAML: "+printable(tabs.Replace(err.Error())),
			"look for a missing quote or bracket; indent with spaces; quote a text that contains a colon or #")
		return false
	}
	for i, doc := range docs {
		if what, _ := unread(doc.Body); what != "" {
			dec.value(path, doc.Start, doc.Body, v)
			return false
		}
		if i > 0 {
			dec.fail(doc.Start, path, "a second document begins here", "keep one document in a file")
			return false
		}
		dec.value(path, start(doc.Body), doc.Body, v)
	}
	return true
}

// firstInvalid returns the place of the first byte that is not UTF-8.
func firstInvalid(text string) (*token.Token, bool) {
	if utf8.ValidString(text) {
		return nil, true
	}
	line, column := 1, 1
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			break
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return &token.Token{Position: &token.Position{Line: line, Column: column}}, false
}

// parse returns the documents that are not empty, or the token at which the text
// stops being YAML. The parser belongs to somebody else: should it panic on a
// damaged file, a reload must not take a gateway down.
func parse(text string) (docs []*ast.DocumentNode, at *token.Token, err error) {
	defer func() {
		if r := recover(); r != nil {
			docs, err = nil, fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	tokens := lexer.Tokenize(text)
	if tok := tooDeep(tokens); tok != nil {
		return nil, tok, fmt.Errorf("more than %d levels deep", maxDepth)
	}
	// Duplicate keys are found by the decoder, all of them.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if ye, ok := errors.AsType[yaml.Error](err); ok {
			return nil, ye.GetToken(), fmt.Errorf("%s", ye.GetMessage())
		}
		return nil, nil, err
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			docs = append(docs, doc)
		}
	}
	return docs, nil, nil
}

// tooDeep returns the first token that is nested deeper than maxDepth, counting
// brackets and the dashes of one line. Deeper nesting by indentation needs a line
// as long, so the size of the file bounds it.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, dashes, line := 0, 0, 0
	for _, tok := range tokens {
		if tok.Position.Line != line {
			dashes, line = 0, tok.Position.Line
		}
		switch tok.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType:
			dashes++
		}
		if brackets > maxDepth || dashes > maxDepth {
			return tok
		}
	}
	return nil
}

// ReadSecret reads a key or a token from a file of at most 64 KiB, without the
// line end that editors append. Every reader of a secret uses it, so that the
// length that was validated is the length that is used.
func ReadSecret(name string) ([]byte, error) {
	b, err := readBounded(name, maxSecret)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return trimLine(b), nil
}

func trimLine(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}
