//go:build !linux

package storetest

import (
	"bytes"
	"os/exec"
	"strconv"
	"syscall"
)

// dieWithParent has nothing to ask for here: a server whose test was killed lives
// until its keeper ends it.
func dieWithParent(*syscall.SysProcAttr) {}

// children lists the processes that a process has started.
func children(pid int) ([]int, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output() //nolint:noctx // it ends by itself
	if err != nil {
		return nil, err
	}
	var found []int
	for line := range bytes.Lines(out) {
		var child, parent int
		fields := bytes.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if child, err = strconv.Atoi(string(fields[0])); err != nil {
			return nil, err
		}
		if parent, err = strconv.Atoi(string(fields[1])); err != nil {
			return nil, err
		}
		if parent == pid {
			found = append(found, child)
		}
	}
	return found, nil
}
