package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// WatchOptions say how a configuration is loaded again and who takes it into
// use. Load and Apply must be set.
type WatchOptions struct {
	// Load reads the configuration as the program did at its start. It is called
	// by one goroutine at a time.
	Load func() (*Loaded, error)
	// Apply takes next into use, all of it or nothing: after an error the old
	// one holds. changes are those from the one in use; never none. What is not
	// Live is among them and in next, and is for Apply to leave alone. It is
	// called by one goroutine at a time and must not call the Watcher.
	Apply func(next *Loaded, changes []Change) error
	// Live says whether a change of this path takes effect without a restart.
	// nil: of every path.
	Live func(path string) bool
	Log  *slog.Logger // nil: nothing is logged
	// Observe hears of every attempt, after it ended, one at a time. It must not
	// call the Watcher. nil: nobody does.
	Observe func(Outcome)
	Poll    time.Duration    // between two looks at the files; 0: 500 ms
	Now     func() time.Time // of an Outcome; nil: time.Now
}

// Outcome is how one attempt to reload ended.
type Outcome struct {
	Err     error  // nil: what is in use is what the files say
	Changed bool   // something else is in use than before
	Hash    string // of the configuration in use now
	Cause   string // as given to [Watcher.Reload], or [CauseFile]
	At      time.Time
}

// CauseFile is the cause of a reload that a changed file asked for.
const CauseFile = "file"

// Report is what a reload that succeeded did.
type Report struct {
	Hash    string   // of the configuration in use now
	Changes []Change // none: the same as before
	Restart []string // paths that differ from what the process started with, and need a restart
}

// The bounds of how late a change is seen: one poll, then the files must be
// quiet for one debounce, or one grace where a file is missing. Together they
// stay below a second.
const (
	defaultPoll = 500 * time.Millisecond
	debounce    = 50 * time.Millisecond  // an editor writes, truncates and renames within a few
	grace       = 300 * time.Millisecond // the gap of mv over a file, or of a slow writer after truncating it
)

// Watcher keeps the configuration of a process up to date with its files, and
// the last good one where they turn bad. Its methods may be called by any number
// of goroutines; one reload runs at a time.
type Watcher struct {
	o       WatchOptions
	started *Loaded
	turn    chan struct{} // held during an attempt
	sight   *sight        // used by Run alone
	notify  func() (*notifier, error)

	mu      sync.Mutex
	current *Loaded
	inputs  []input  // what the last attempt read
	pending []string // what differs from started and needs a restart
	failed  bool     // the last attempt did
}

// NewWatcher returns a Watcher of what current was made of. current is what the
// process runs with.
func NewWatcher(current *Loaded, o WatchOptions) *Watcher {
	if o.Live == nil {
		o.Live = func(string) bool { return true }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(Outcome) {}
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Watcher{
		o: o, started: current, turn: make(chan struct{}, 1), sight: newSight(), notify: newNotifier,
		current: current, inputs: current.inputs,
	}
}

// Current returns the configuration in use.
func (w *Watcher) Current() *Loaded {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// Pending returns the paths whose values differ from those that the process
// started with and take effect at a restart only, in the order of the schema.
func (w *Watcher) Pending() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.pending)
}

// Reload loads the configuration at once and takes it into use, also where no
// file has changed, e.g. because somebody asked for it. cause is a word for logs
// and metrics. The error is that of Load or Apply, and nothing has changed then;
// or ctx's, if it ended before it was this call's turn.
func (w *Watcher) Reload(ctx context.Context, cause string) (Report, error) {
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("waiting for another reload to end: %w", context.Cause(ctx))
	}
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return Report{}, fmt.Errorf("waiting for another reload to end: %w", context.Cause(ctx))
	}
	defer func() { <-w.turn }()
	next, err := w.load(w.read())
	return w.finish(cause, next, err)
}

// load loads, and notes which files that read, whether it went well or not: a
// new configuration may be bad only because a file that it names isn't there
// yet. seen is noted where the error doesn't tell.
func (w *Watcher) load(seen []input) (*Loaded, error) {
	next, err := w.o.Load()
	bad, known := errors.AsType[*Error](err)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.inputs = next.inputs
	case known && len(bad.inputs) > 0:
		w.inputs = bad.inputs
	default:
		w.inputs = seen
	}
	return next, err
}

// finish takes a configuration that was loaded into use and tells everybody.
func (w *Watcher) finish(cause string, next *Loaded, err error) (Report, error) {
	old := w.Current()
	var changes []Change
	other := err == nil && next.Digest != old.Digest
	if other {
		changes = Diff(old, next)
		if err = w.o.Apply(next, changes); err != nil {
			err = fmt.Errorf("taking the new configuration into use: %w", err)
		}
	}
	recovered := w.settled(next, err)
	now := w.Current()
	if err != nil {
		w.logFailure(cause, err)
	} else {
		w.logSuccess(cause, now, changes, recovered)
	}
	w.o.Observe(Outcome{Err: err, Changed: other && err == nil, Hash: now.Hash, Cause: cause, At: w.o.Now()})
	if err != nil {
		return Report{}, err
	}
	return Report{Hash: now.Hash, Changes: changes, Restart: w.Pending()}, nil
}

// settled notes how an attempt ended, and reports whether the one before failed.
func (w *Watcher) settled(next *Loaded, err error) (recovered bool) {
	var pending []string
	if err == nil {
		pending = w.restart(Diff(w.started, next))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	recovered, w.failed = w.failed, err != nil
	if err == nil {
		w.current, w.pending = next, pending // also where only comments changed: lines are named rightly
	}
	return recovered
}

// restart picks the paths that need one.
func (w *Watcher) restart(changes []Change) []string {
	var paths []string
	for _, c := range changes {
		if !w.o.Live(c.Path) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}
