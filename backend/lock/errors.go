package lock

import (
	"errors"
	"io"
	"net"
	"syscall"
)

var (
	// ErrLost: the lock ended before it was given back, and the section under it may
	// have overlapped with another's. It comes with ErrExpired, ErrNotOwner or
	// ErrMaxHold, which say how. Stop, and let the guards in SQL decide.
	ErrLost = errors.New("lock lost")
	// ErrExpired: the lock's time ran out, or Redis lost it, and nobody holds it.
	ErrExpired = errors.New("nobody holds the lock any more")
	// ErrNotOwner: another token holds the lock, which stays as it is.
	ErrNotOwner = errors.New("another holds the lock")
	// ErrMaxHold: the lock was held for as long as is allowed, and is renewed no
	// more. Work on less at a time, or raise lock.max_hold.
	ErrMaxHold = errors.New("lock held for as long as is allowed")
	// ErrUnlocked: unlock was called before. Call it once.
	ErrUnlocked = errors.New("lock given back already")
	// ErrUnavailable: Redis could not be asked, or gave no usable answer. A lock is
	// not had; one that was to be given back may still be held until its time runs
	// out. Go on without it: see whether Redis is up, and its log.
	ErrUnavailable = errors.New("lock unavailable")
)

// brokeOff says that a connection ended under a call, which may have been executed:
// the reply is lost, or the request was.
func brokeOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// isUnknown says that a call which failed may have been executed all the same.
func isUnknown(err error) bool {
	var network net.Error // the deadline of a context is one too
	return brokeOff(err) || errors.As(err, &network) && network.Timeout()
}
