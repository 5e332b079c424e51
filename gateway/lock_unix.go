//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder keeps a second gateway off an embedded database: each would have a
// filter of its own, and one's demo sales would sweep away the other's. The
// kernel gives the lock back when the process ends, however it ends.
func lockFolder(folder string) (release func() error, err error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("data folder: %w (choose another with --data)", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, "gateway.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w (choose another with --data)", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another gateway runs on the data folder %s; stop it, or choose another with --data", folder), f.Close())
	}
	return f.Close, nil
}
