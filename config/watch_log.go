package config

import (
	"errors"
	"fmt"
	"strings"
)

// mostLogged bounds the changes, and the problems, that one line of the log
// names.
const mostLogged = 20

func (w *Watcher) logSuccess(cause string, now *Loaded, changes []Change, recovered bool) {
	args := []any{"cause", cause, "hash", brief(now.Hash)}
	switch {
	case len(changes) > 0:
		args = append(args, "changes", sentence(changes))
		if restart := w.restart(changes); len(restart) > 0 {
			args = append(args, "after_a_restart", sentence(restart))
		}
		w.o.Log.Info("configuration reloaded", args...)
	case recovered:
		w.o.Log.Info("configuration is good again; it is the one in use", args...)
	case cause == CauseFile:
		w.o.Log.Debug("configuration touched; nothing in it changed", args...)
	default:
		w.o.Log.Info("configuration reloaded; nothing in it changed", args...)
	}
}

// logFailure tells once what is wrong: an attempt is made once for a content of
// the files, or by somebody who asked for it.
func (w *Watcher) logFailure(cause string, err error) {
	args := []any{"cause", cause, "hash", brief(w.Current().Hash), "error", err}
	if bad, ok := errors.AsType[*Error](err); ok {
		problems := make([]string, len(bad.Problems))
		for i, p := range bad.Problems {
			problems[i] = p.String()
			if p.Hint != "" {
				problems[i] += " (" + p.Hint + ")"
			}
		}
		args[len(args)-1] = sentence(problems)
	}
	w.o.Log.Error("configuration not reloaded; the one in use stays", args...)
}

// brief is as much of a hash as tells two apart at a glance.
func brief(hash string) string { return hash[:min(len(hash), 12)] }

// sentence joins the first of list.
func sentence[T any](list []T) string {
	words := make([]string, 0, min(len(list), mostLogged)+1)
	for _, v := range list[:min(len(list), mostLogged)] {
		words = append(words, fmt.Sprint(v))
	}
	if more := len(list) - mostLogged; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; ")
}
