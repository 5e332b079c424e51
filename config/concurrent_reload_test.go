package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Whoever asks, one reload runs at a time, and each reports what it found.
func TestReloadsAtTheSameTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rushgate.yaml")
	write(t, file, rate(1))
	var inside atomic.Int32
	alone := func(*Loaded, []Change) error {
		if inside.Add(1) != 1 {
			t.Error("two reloads at a time")
		}
		inside.Add(-1)
		return nil
	}
	f := follow(t, Options{File: file}, WatchOptions{Poll: time.Millisecond, Apply: alone})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 20 {
				if g == 0 {
					write(t, file+".new", rate(2+i%3))
					if err := os.Rename(file+".new", file); err != nil {
						t.Error(err)
					}
				}
				r, err := f.Reload(t.Context(), "admin")
				if err != nil || r.Hash == "" {
					t.Errorf("%+v, %v", r, err)
				}
				_, _ = f.Current().Hash, f.Pending()
			}
		})
	}
	all.Wait()
	write(t, file, rate(9))
	f.becomes(t, 9)
}

func TestWaitForAnotherReloadEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rushgate.yaml")
	write(t, file, rate(1))
	entered, leave := make(chan struct{}), make(chan struct{})
	f := follow(t, Options{File: file}, WatchOptions{Poll: time.Hour, Load: func() (*Loaded, error) {
		entered <- struct{}{}
		<-leave
		return Load(Options{File: file})
	}})
	done := make(chan error)
	go func() {
		_, err := f.Reload(context.WithoutCancel(t.Context()), "first")
		done <- err
	}()
	<-entered
	errGone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	if _, err := f.Reload(ctx, "second"); !errors.Is(err, errGone) {
		t.Errorf("error is %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if o := f.next(t); o.Cause != "first" || len(f.told()) != 0 {
		t.Errorf("told %+v", o)
	}
}
