//go:build !linux

package luatest

import "syscall"

// dieWithParent has nothing to ask for here: a server may outlive a test that was
// killed.
func dieWithParent() *syscall.SysProcAttr { return nil }
