package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lookedAt runs a test on a clock of its own: hours of looks pass in no time, and
// what happens between two of them is exact.
func lookedAt(t *testing.T, source string, o WatchOptions, test func(t *testing.T, file string, f *followed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "rushgate.yaml")
		write(t, file, source)
		f := follow(t, Options{File: file}, o, func(w *Watcher) { w.notify = deaf })
		synctest.Wait() // for its first look
		test(t, file, f)
	})
}

// told are the outcomes that came so far.
func (f *followed) told() []Outcome {
	var all []Outcome
	for {
		select {
		case o := <-f.outcomes:
			all = append(all, o)
		default:
			return all
		}
	}
}

// The second half is written while the first is judged.
func TestHalfWrittenFileIsReadAgain(t *testing.T) {
	var file string
	loads := 0
	load := func() (*Loaded, error) {
		loads++
		l, err := Load(Options{File: file})
		if loads == 1 {
			write(t, file, rate(2))
		}
		return l, err
	}
	lookedAt(t, rate(1), WatchOptions{Load: load}, func(t *testing.T, name string, f *followed) {
		file = name
		write(t, file, "limits: {user: {qps: 2,")
		pass(time.Minute)
		all := f.told()
		if len(all) != 1 || all[0].Err != nil || !all[0].Changed || loads != 2 {
			t.Errorf("%d loads, told %+v", loads, all)
		}
		f.becomes(t, 2)
	})
}

// A writer that takes its time: the file is let alone until it is quiet.
func TestSlowlyWrittenFileIsReadOnce(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{Poll: debounce / 10}, func(t *testing.T, file string, f *followed) {
		text := rate(2)
		for i := range text {
			write(t, file, text[:i+1])
			pass(debounce / 10)
		}
		pass(time.Minute)
		all := f.told()
		if len(all) != 1 || all[0].Err != nil {
			t.Errorf("told %+v", all)
		}
		f.becomes(t, 2)
	})
}

// Half a file that stays one is told once, not at every look; and what is told
// names the place.
func TestFileThatStaysHalfIsToldOnce(t *testing.T) {
	loads := 0
	var file string
	load := func() (*Loaded, error) {
		loads++
		return Load(Options{File: file})
	}
	lookedAt(t, rate(1), WatchOptions{Load: load}, func(t *testing.T, name string, f *followed) {
		file = name
		write(t, file, "limits:\n  user: {qps: 2,")
		pass(time.Hour)
		all := f.told()
		if len(all) != 1 || loads != 1 {
			t.Fatalf("%d loads, told %+v", loads, all)
		}
		bad, ok := errors.AsType[*Error](all[0].Err)
		if !ok || bad.Problems[0].Origin.Name != file || bad.Problems[0].Origin.Line != 2 {
			t.Errorf("error %v does not name the place", all[0].Err)
		}
		if n := f.log.count("level=ERROR"); n != 1 || f.log.count(filepath.Base(file)+":2:") != 1 {
			t.Errorf("%d errors in the log:\n%s", n, f.log.text.String())
		}
		f.becomes(t, 1)
	})
}

// An unchanged file is asked about, and not even read, let alone parsed.
func TestUnchangedFileIsNotLoaded(t *testing.T) {
	load := func() (*Loaded, error) { return nil, errors.New("loaded") }
	lookedAt(t, rate(1), WatchOptions{Load: load}, func(t *testing.T, _ string, f *followed) {
		pass(time.Hour)
		if all := f.told(); len(all) != 0 {
			t.Errorf("told %+v", all)
		}
		for o, g := range f.sight.seen {
			if g.same != freshLooks {
				t.Errorf("%s was read %d times although it is the same", o.name, g.same)
			}
		}
	})
}

// Times of files step in ticks: a second write within one, of the same length,
// leaves all that the system says of a file as it was.
func TestWrittenTwiceWithinATick(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{}, func(t *testing.T, file string, f *followed) {
		write(t, file, rate(2))
		info, err := os.Stat(file)
		must(t, err)
		pass(defaultPoll + 2*debounce)
		f.becomes(t, 2)
		write(t, file, rate(3))
		must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
		pass(defaultPoll + 2*debounce)
		f.becomes(t, 3)
	})
}

// A full disk leaves nothing of a file that is saved. That would be a valid
// configuration of defaults.
func TestFileThatIsEmptiedIsNotBelieved(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{}, func(t *testing.T, file string, f *followed) {
		write(t, file, "")
		pass(time.Hour)
		all := f.told()
		if len(all) != 1 || all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "is empty") {
			t.Fatalf("told %+v", all)
		}
		f.becomes(t, 1)
		// Who asks for it gets it.
		r, err := f.Reload(t.Context(), "signal")
		if err != nil || len(r.Changes) == 0 {
			t.Errorf("asked for: %+v, %v", r, err)
		}
		f.becomes(t, Default().Limits.User.QPS)
	})
}

// pass lets d pass on the clock of lookedAt, and all that happens then end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
