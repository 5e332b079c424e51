package storetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// dieWithParent makes the kernel end a process whose test was killed or timed out,
// when no clean-up runs.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// children lists the processes that a process has started. Those of a database
// server leave its process group, which is why that doesn't do.
func children(pid int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// proc(5): pid (comm) state ppid; comm may hold blanks and brackets.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		found = append(found, child)
	}
	return found, nil
}
