//go:build unix

package proxy

import (
	"net"
	"syscall"
)

// quiet says that an idle connection is open and that nothing has arrived on it:
// neither the end that a server sends when it closes, nor bytes. It costs one
// system call and waits for nothing. Without it a request that must not be sent
// twice is lost each time a server retires a connection first.
func quiet(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	silent := false
	// Control, not Read: it does not depend on the deadline of the last use.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		silent = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	})
	return err == nil && silent
}
