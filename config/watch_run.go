package config

import (
	"context"
	"slices"
	"time"
)

// read returns what the last attempt read.
func (w *Watcher) read() []input {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inputs
}

// Run follows the files until ctx ends, and then returns. It must be called at
// most once.
func (w *Watcher) Run(ctx context.Context) {
	n, err := w.notify()
	if err != nil {
		w.o.Log.Warn("files are not watched, only looked at; raise fs.inotify.max_user_instances if this process needs one", "every", w.o.Poll, "error", err)
	}
	defer n.close()
	ticker := time.NewTicker(w.o.Poll)
	defer ticker.Stop()
	n.follow(names(w.read()), w.o.Log)
	w.catchUp(ctx, true) // what happened since the files were read
	for {
		closely := true
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			closely = false
		case event := <-n.events():
			if !n.concerns(event) {
				continue
			}
		case err := <-n.failures(): // events may be lost, so any of them may have happened
			w.o.Log.Debug("watching files", "error", err)
		}
		w.catchUp(ctx, closely)
		if n.follow(names(w.read()), w.o.Log) {
			w.catchUp(ctx, true)
			n.follow(names(w.read()), w.o.Log)
		}
	}
}

// catchUp reloads if the files hold something else than the last attempt read.
func (w *Watcher) catchUp(ctx context.Context, closely bool) {
	inputs := w.read()
	if !outdated(inputs, w.sight.look(inputs, closely)) || !w.quiet(ctx) {
		return
	}
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-w.turn }()
	inputs = w.read()
	states := w.sight.look(inputs, true)
	if !outdated(inputs, states) {
		return // it is as it was, or somebody else was faster
	}
	next, err := w.load(restated(inputs, states))
	if err != nil && w.again(ctx) {
		next, err = w.load(w.read())
	}
	if err == nil {
		err = w.emptied(next)
	}
	if ctx.Err() == nil {
		_, _ = w.finish(CauseFile, next, err) // the log and the observer are told
	}
}

// emptied is an error where the configuration file had something in it and has
// nothing now. That is a valid one, of defaults alone; but it is also what a full
// disk leaves of a file that is saved, so nobody's word is taken for it but that
// of who asks for a reload.
func (w *Watcher) emptied(next *Loaded) error {
	if len(next.Source) > 0 || len(w.Current().Source) == 0 {
		return nil
	}
	return &Error{Problems: []Problem{{
		Origin:  Origin{Source: FromFile, Name: next.File},
		Message: "is empty, and was not before",
		Hint:    "write it anew; if the defaults are meant, ask for a reload",
	}}}
}

// again waits for one debounce after a load that failed, and says whether the
// files hold something else by then: what was read may have been half of it.
func (w *Watcher) again(ctx context.Context) bool {
	inputs := w.read()
	return pause(ctx, debounce) && outdated(inputs, w.sight.look(inputs, true))
}

// quiet waits until the files are the same for one debounce and none of them is
// missing, but no longer than the grace. It reports whether ctx is still good.
func (w *Watcher) quiet(ctx context.Context) bool {
	inputs := w.read()
	last := w.sight.look(inputs, true)
	for range grace / debounce {
		if !pause(ctx, debounce) {
			return false
		}
		now := w.sight.look(inputs, true)
		if slices.Equal(last, now) && !vanished(inputs, now) {
			break
		}
		last = now
	}
	return true
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
