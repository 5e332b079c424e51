package storetest

import (
	"bufio"
	"net"
	"sync/atomic"
)

// line is one connection through a wire.
type line struct {
	wire           *Wire
	client, server net.Conn
	doomed         atomic.Bool // the next reply is lost
}

// cut breaks the connection, at both ends.
func (l *line) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// requests hands on what the client sends until the connection ends or is to
// break.
func (l *line) requests() {
	next := l.wire.server.run.engine.messages(bufio.NewReader(l.client))
	for {
		message, commit, err := next()
		if err != nil || commit && !l.letCommit() {
			return
		}
		if _, err := l.server.Write(message); err != nil {
			return
		}
		l.wire.notice(message)
	}
}

// letCommit decides about a COMMIT. The connection is marked before the server can
// answer.
func (l *line) letCommit() bool {
	switch {
	case l.wire.commit.CompareAndSwap(commitIsLost, commitPasses):
		l.doomed.Store(true)
	case l.wire.commit.CompareAndSwap(commitIsCut, commitPasses):
		l.wire.lost.Add(1)
		return false
	}
	return true
}

// replies hands on what the server answers until the connection ends or an answer
// is lost.
func (l *line) replies() {
	b := make([]byte, 16<<10)
	for {
		n, err := l.server.Read(b)
		if n > 0 && (l.doomed.Load() || l.wire.losing.Load()) {
			l.wire.lost.Add(1)
			return
		}
		if n > 0 {
			if _, err := l.client.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
