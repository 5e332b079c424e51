package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// input is a file that a load read, or tried to, and what it found there. The
// recorded state is that of the bytes which were judged, so whoever compares it
// with the file later misses no change between two looks.
type input struct {
	path  string // of the key that names it; "" for the configuration itself
	name  string // as it was named
	most  int64  // bytes that are read of it
	apart bool   // its contents are not among the effective values: a key, a list
	state fileState
}

// fileState is what a file held, in a form that can be compared.
type fileState struct {
	sum   string // SHA-256 in hexadecimal, or why it could not be read
	blank bool   // not there, or nothing in it
}

func stateOf(content []byte, err error) fileState {
	if err != nil {
		return fileState{sum: "cannot be read: " + err.Error(), blank: true}
	}
	sum := sha256.Sum256(content)
	return fileState{sum: hex.EncodeToString(sum[:]), blank: len(content) == 0}
}

// read reads a file that the value at path names, and notes it.
func (d *draft) read(path, name string, most int64) ([]byte, error) {
	content, err := readBounded(name, most)
	d.inputs = append(d.inputs, input{path: path, name: name, most: most, apart: true, state: stateOf(content, err)})
	return content, err
}

// readValue is read for a file that holds the value of path itself.
func (d *draft) readValue(path, name string, most int64) ([]byte, error) {
	content, err := d.read(path, name, most)
	d.inputs[len(d.inputs)-1].apart = false
	return content, err
}

// digest is the SHA-256 in hexadecimal of the effective values, given by their
// hash, and of the files beside them.
func digest(hash string, inputs []input) string {
	h := sha256.New()
	fmt.Fprintln(h, hash)
	for _, in := range inputs {
		if in.apart {
			fmt.Fprintf(h, "%q %s\n", in.path, in.state.sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Files returns the files that this configuration was made of, as they were
// named, each once: its own, those that RUSHGATE_*_FILE variables name, and the
// secrets, certificates and lists that its values name.
func (l *Loaded) Files() []string {
	return names(l.inputs)
}

func names(inputs []input) []string {
	list := make([]string, 0, len(inputs))
	for _, in := range inputs {
		if !slices.Contains(list, in.name) {
			list = append(list, in.name)
		}
	}
	return list
}
