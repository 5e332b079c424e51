package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder lays a parsed document over a draft. It walks the tree itself, because
// a decoder that stops at its first error would tell a reader one mistake at a
// time, and because the place of every value is kept.
//
// Groups and maps are merged key by key, so a file names only what it changes.
// Lists are replaced as a whole.
type decoder struct {
	*draft
	place func(*token.Token) Origin
}

func (d decoder) fail(tok *token.Token, path, message, hint string) {
	d.report(d.place(tok), path, message, hint)
}

// value reads n into v. owner is the token to show where n has none of its own.
func (d decoder) value(path string, owner *token.Token, n ast.Node, v reflect.Value) {
	if what, hint := unread(n); what != "" {
		d.fail(n.GetToken(), path, what+" are not read", hint)
		return
	}
	switch {
	case isScalar(v.Type()):
		d.word(path, owner, n, v)
	case v.Kind() == reflect.Slice:
		d.list(path, owner, n, v)
	default:
		d.mapping(path, n, v)
	}
}

// unread names what YAML has and a configuration has no use for. Aliases in
// particular make a value stand where nobody looks for it.
func unread(n ast.Node) (what, hint string) {
	switch n.(type) {
	case *ast.AnchorNode:
		return "anchors", "write the value itself in each place"
	case *ast.AliasNode:
		return "aliases", "write the value itself"
	case *ast.TagNode:
		return "tags", "write the value alone, a text in quotes if need be"
	case *ast.DirectiveNode:
		return "directives", "delete the line"
	}
	return "", ""
}

func (d decoder) word(path string, owner *token.Token, n ast.Node, v reflect.Value) {
	text, quoted, ok := word(n)
	switch {
	case isNull(n):
		d.fail(owner, path, "has no value", `write one ("" is the empty text), or delete the line`)
		return
	case !ok:
		d.fail(start(n), path, "is "+kind(n)+", but one value is wanted", "write one word, or a text in quotes")
		return
	case quoted && !readsText(v):
		d.fail(start(n), path, "is text in quotes, but a number or a truth value is wanted", "write it without quotes")
		return
	}
	d.origins[path] = d.place(start(n))
	if err := setWord(v, text); err != nil {
		d.reportError(d.origins[path], path, err)
	}
}

func (d decoder) list(path string, owner *token.Token, n ast.Node, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	switch {
	case isNull(n):
		d.fail(owner, path, "has no value", "write [] for an empty list, or delete the line to keep the default")
		return
	case !ok:
		d.fail(start(n), path, "is "+kind(n)+", but a list is wanted", "write a list: [ … ] on one line, or one entry a line after a dash")
		return
	}
	d.origins.forget(path)
	d.origins[path] = d.place(start(n))
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, entry := range seq.Values {
		p := index(path, i)
		d.origins[p] = d.place(start(entry))
		out.Index(i).Set(blank(v.Type().Elem()))
		d.value(p, start(entry), entry, out.Index(i))
	}
	v.Set(out)
}

func (d decoder) mapping(path string, n ast.Node, v reflect.Value) {
	m, ok := n.(*ast.MappingNode)
	switch {
	case isNull(n): // all keys commented out: nothing is said
		return
	case !ok:
		d.fail(start(n), path, "is "+kind(n)+", but keys with values are wanted", "write key: value")
		return
	}
	lines := make(map[string]int, len(m.Values))
	for _, pair := range m.Values {
		key, ok := d.key(path, pair)
		if !ok {
			continue
		}
		tok := pair.Key.GetToken()
		if first, twice := lines[key]; twice {
			d.note(d.place(tok), join(path, key), fmt.Sprintf("is set twice, the first time on line %d", first), "keep one of the two")
			continue
		}
		lines[key] = tok.Position.Line
		d.entry(path, key, pair, v)
	}
}

// key reads a key as it is written: 0123 and "0123" are the same one.
func (d decoder) key(path string, pair *ast.MappingValueNode) (string, bool) {
	if _, merge := pair.Key.(*ast.MergeKeyNode); merge {
		d.fail(pair.Key.GetToken(), join(path, "<<"), "merge keys are not read", "write the values themselves")
		return "", false
	}
	n, ok := pair.Key.(ast.Node)
	if ok {
		if text, _, isWord := word(n); isWord {
			return text, true
		}
		if isNull(n) {
			return n.GetToken().Value, true
		}
	}
	d.fail(pair.Key.GetToken(), path, "has a key that is not a word", "write key: value")
	return "", false
}

// entry reads one key of a group or a map.
func (d decoder) entry(path, key string, pair *ast.MappingValueNode, v reflect.Value) {
	p, tok := join(path, key), pair.Key.GetToken()
	if v.Kind() == reflect.Map {
		d.origins[p] = d.place(tok)
		entry := blank(v.Type().Elem())
		if old := v.MapIndex(reflect.ValueOf(key)); old.IsValid() {
			entry.Set(old)
		}
		d.value(p, tok, pair.Value, entry)
		v.SetMapIndex(reflect.ValueOf(key), entry)
		return
	}
	f, known := field(v, key)
	if !known {
		d.fail(tok, p, "unknown key", instead(key, keys(v.Type())))
		return
	}
	d.origins[p] = d.place(tok)
	d.value(p, tok, pair.Value, f)
}

// word returns the text of a scalar and whether it stands in quotes.
func word(n ast.Node) (text string, quoted, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, n.Token.Type != token.StringType, true
	case *ast.LiteralNode:
		return n.Value.Value, true, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return strings.TrimSpace(n.GetToken().Value), false, true
	case *ast.MappingNode:
		text, ok = glued(n)
		return text, false, ok
	}
	return "", false, false
}

// glued puts host:port together again. In a list within braces,
// {servers: [host:80]}, the parser takes it for a pair, although a plain colon
// separates only before a space (YAML 1.2.2 section 7.3.3).
func glued(m *ast.MappingNode) (string, bool) {
	if m.IsFlowStyle || len(m.Values) != 1 {
		return "", false
	}
	pair := m.Values[0]
	if _, group := pair.Value.(*ast.MappingNode); group {
		return "", false
	}
	value, quoted, ok := word(pair.Value)
	key, colon, after := pair.Key.GetToken(), pair.Start.Position, pair.Value.GetToken()
	if !ok || quoted || key.Type == token.SingleQuoteType || key.Type == token.DoubleQuoteType ||
		after.Position.Line != colon.Line || after.Position.Column != colon.Column+1 {
		return "", false
	}
	return key.Value + ":" + value, true
}

func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return n == nil || null
}

// kind names what n is, as its reader would.
func kind(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a group of keys"
	case *ast.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// readsText says that a value may stand in quotes.
func readsText(v reflect.Value) bool {
	return v.Kind() == reflect.String || reflect.PointerTo(v.Type()).Implements(textType)
}

// start is the token where n begins. A mapping's own token is the first colon.
func start(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}
