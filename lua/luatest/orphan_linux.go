package luatest

import "syscall"

// dieWithParent makes the kernel end a server whose test was killed or timed out,
// when no clean-up runs.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
