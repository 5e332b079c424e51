package config

import (
	"io/fs"
	"os"
	"slices"
)

// sight remembers what it saw of files, so that a look at one that stays the
// same costs no more than asking the system about it.
type sight struct{ seen map[object]glance }

// object is a file as one of its readers sees it: to another bound, one that is
// too large looks otherwise.
type object struct {
	name string
	most int64
}

// glance is what was seen of one file.
type glance struct {
	info  fs.FileInfo
	state fileState
	same  int // looks since the system last said something new about it
}

func newSight() *sight { return &sight{map[object]glance{}} }

// freshLooks is how often a small file is read again although the system says
// that it is the same. Times of files step in ticks of some milliseconds, so a
// second write within one and of the same length does not show.
const freshLooks = 4

// look returns what the files hold now, in the order of inputs. closely reads
// the small ones in any case: an event said that something happened.
func (s *sight) look(inputs []input, closely bool) []fileState {
	now, states := make(map[object]glance, len(inputs)), make([]fileState, len(inputs))
	for i, in := range inputs {
		o := object{in.name, in.most}
		g, done := now[o]
		if !done {
			g = s.glance(o, closely)
			now[o] = g
		}
		states[i] = g.state
	}
	s.seen = now // forgets files that are not named any more
	return states
}

func (s *sight) glance(o object, closely bool) glance {
	info, err := os.Stat(o.name)
	if err != nil {
		return glance{state: stateOf(nil, withoutName(err))}
	}
	last, known := s.seen[o]
	same := known && last.info != nil && os.SameFile(last.info, info) && last.info.Size() == info.Size() && last.info.ModTime().Equal(info.ModTime())
	if small := info.Size() <= maxFile; same && (!small || !closely && last.same >= freshLooks) {
		return last
	}
	g := glance{info: info, state: stateOf(readBounded(o.name, o.most))}
	if same {
		g.same = last.same + 1
	}
	return g
}

// outdated says that a file holds something else than inputs have noted.
func outdated(inputs []input, states []fileState) bool {
	for i, in := range inputs {
		if in.state != states[i] {
			return true
		}
	}
	return false
}

// vanished says that a file which held something is missing, or empty: the gap
// of a file that is being replaced, or rewritten in place.
func vanished(inputs []input, states []fileState) bool {
	for i, in := range inputs {
		if states[i].blank && !in.state.blank {
			return true
		}
	}
	return false
}

// restated is inputs with what the files hold now.
func restated(inputs []input, states []fileState) []input {
	inputs = slices.Clone(inputs)
	for i := range inputs {
		inputs[i].state = states[i]
	}
	return inputs
}
