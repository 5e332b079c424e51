// Package reload keeps the configuration of a running program up to date: when a
// file of it changes, at SIGHUP, and when somebody asks. It is what both programs
// put round a [config.Watcher].
package reload

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rushgate/config"
)

// Options say where a configuration comes from and who takes it over. All fields
// are needed.
type Options struct {
	Load     func() (*config.Loaded, error)   // as the program did at its start
	Apply    func(next *config.Loaded) error  // all of it that is live, or nothing
	Live     func(path string) (changes bool) // whether a change of this path takes effect without a restart
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// Reloader follows one configuration. Safe for concurrent use.
type Reloader struct {
	*config.Watcher
	hangups chan os.Signal
}

// New returns a Reloader of the configuration that the program started with. Have
// Run run beside the program. From New on, SIGHUP no longer ends the process.
func New(current *config.Loaded, o Options) *Reloader {
	metrics := NewMetrics(o.Registry)
	metrics.Started(current.Hash, time.Now())
	r := &Reloader{hangups: make(chan os.Signal, 1)}
	r.Watcher = config.NewWatcher(current, config.WatchOptions{
		Load:    o.Load,
		Apply:   func(next *config.Loaded, _ []config.Change) error { return o.Apply(next) },
		Live:    o.Live,
		Log:     o.Log,
		Observe: func(r config.Outcome) { metrics.Observe(r.Err, r.Changed, r.Hash, r.At) },
	})
	signal.Notify(r.hangups, syscall.SIGHUP)
	return r
}

// Run follows the files and the signals until ctx ends.
func (r *Reloader) Run(ctx context.Context) {
	defer signal.Stop(r.hangups)
	var files sync.WaitGroup
	defer files.Wait()
	files.Go(func() { r.Watcher.Run(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangups:
			_, _ = r.Reload(ctx, "SIGHUP") // the watcher logs how it went
		}
	}
}

// told is what an operator hears of a reload.
type told struct {
	Hash    string   `json:"hash"`
	Changes []change `json:"changes"`
	Restart []string `json:"needs_restart"` // paths that differ from what this process started with
}

type change struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Ask reloads for an operator, and returns what to tell, for JSON: the hash in
// force, each change, and the paths that need a restart. After an error nothing
// has changed.
func (r *Reloader) Ask(ctx context.Context) (any, error) {
	report, err := r.Reload(ctx, "admin API")
	if err != nil {
		return nil, err
	}
	t := told{Hash: report.Hash, Changes: make([]change, len(report.Changes)), Restart: append([]string{}, report.Restart...)}
	for i, c := range report.Changes {
		t.Changes[i] = change{c.Path, c.Old, c.New}
	}
	return t, nil
}

// Show writes the configuration that was loaded last, secrets masked, and which
// paths of it wait for a restart, as JSON.
func (r *Reloader) Show(w io.Writer) error {
	var shown bytes.Buffer
	if err := r.Current().Show(&shown, "json"); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(struct {
		Restart []string        `json:"needs_restart"`
		Config  json.RawMessage `json:"config"`
	}{append([]string{}, r.Pending()...), shown.Bytes()})
}
