package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Options names the layers above the defaults.
type Options struct {
	File  string            // the YAML file; "" for none
	Env   []string          // as [os.Environ] returns it; only RUSHGATE_* is read
	Flags map[string]string // value by path, e.g. "listen": "127.0.0.1:0"; written as in a variable
}

// Loaded is a configuration that is valid, and where it comes from. It is not
// changed after [Load] returns it, so any number of goroutines may read it.
type Loaded struct {
	Config Config
	File   string // as it was named in Options
	Source []byte // the file as it was read; nil without one
	// Hash is the SHA-256 of the effective values in hexadecimal. It tells two
	// configurations apart whatever layer their values come from; what stands in
	// the files that they name (secrets, the blacklist) is not part of it.
	Hash string
	// Digest is the SHA-256 of the effective values and of the contents of the
	// files that they name, in hexadecimal. Two configurations with one digest
	// do the same.
	Digest string

	origins origins
	inputs  []input
}

// Load reads and validates a configuration: the defaults, then the file, then the
// variables, then the flags. The error is an [*Error] with every problem found.
//
// Groups and maps merge key by key, so an entry of upstreams that gives only its
// timeout keeps the other values; lists replace the list below. An upstream whose
// servers are named is not embedded, and the other way round: the higher layer
// decides, and naming both in one layer is a problem.
//
// Relative names of files, here and in the configuration, start at the working
// directory of the process.
func Load(o Options) (*Loaded, error) {
	if o.File == "" {
		return load(o, nil)
	}
	source, err := readBounded(o.File, maxFile)
	if err != nil {
		return nil, &Error{
			Problems: []Problem{{
				Origin:  Origin{Source: FromFile, Name: o.File},
				Message: "cannot be read: " + err.Error(),
				Hint:    "name a readable file of at most 1MiB, or none to run with the defaults",
			}},
			inputs: []input{{name: o.File, most: maxFile, state: stateOf(nil, err)}},
		}
	}
	return load(o, source)
}

func load(o Options, source []byte) (*Loaded, error) {
	d := newDraft(o.File, source)
	if o.File != "" {
		d.inputs = append(d.inputs, input{name: o.File, most: maxFile, state: stateOf(source, nil)})
	}
	if o.File == "" || d.decodeFile() {
		d.environment(o.Env)
		d.flags(o.Flags)
		d.settleUpstreams()
		validate(d)
	}
	if len(d.problems) > 0 {
		sortProblems(d.problems)
		return nil, &Error{Problems: d.problems, inputs: d.inputs}
	}
	l := &Loaded{Config: d.config, File: o.File, Source: source, origins: d.origins, inputs: d.inputs}
	l.Hash = hash(l.Config)
	l.Digest = digest(l.Hash, l.inputs)
	return l, nil
}

// flags lays flags over the draft.
func (d *draft) flags(flags map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		from := Origin{Source: FromFlag}
		if !d.setText(path, flags[path], from) {
			d.report(from, path, "unknown key", unknownPath(path, d.root()))
		}
	}
}

func unknownPath(path string, root reflect.Value) string {
	var known []string
	walk("", root, func(p string, _ reflect.Value) { known = append(known, p) })
	if near := closest(path, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "write the path of a key, e.g. limits.user.qps"
}

// settleUpstreams makes the choice between the embedded backend and named servers
// that the layers ask for.
func (d *draft) settleUpstreams() {
	for _, name := range slices.Sorted(maps.Keys(d.config.Upstreams)) {
		u := d.config.Upstreams[name]
		if !u.Embedded || len(u.Servers) == 0 {
			continue
		}
		embedded, servers := join("upstreams", name)+".embedded", join("upstreams", name)+".servers"
		switch e, s := d.origins[embedded], d.origins[servers]; {
		case s.Source > e.Source:
			u.Embedded = false
			d.origins[embedded] = s
		case s.Source < e.Source:
			u.Servers = []string{}
			d.origins.forget(servers)
			d.origins[servers] = e
		default:
			d.report(s, servers, "servers are named and embedded is true", "delete embedded to use the servers, or the servers to use the backend in this process")
		}
		d.config.Upstreams[name] = u
	}
}

// Origin tells where the value at path comes from, e.g. "limits.ip.qps" or
// "routes[0].path". A path that was not stated has the default's.
func (l *Loaded) Origin(path string) Origin {
	return l.origins[path]
}

func hash(c Config) string {
	sum := sha256.Sum256([]byte(effective(c)))
	return hex.EncodeToString(sum[:])
}
