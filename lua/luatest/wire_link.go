package luatest

import (
	"net"
	"time"
)

// replyRoom is how many replies of a connection may be on their way; a server that
// is faster than that waits, as it does for a slow network.
const replyRoom = 64

// link is one connection over a wire: three goroutines, which end when it is cut.
type link struct {
	wire    *Wire
	client  net.Conn
	server  net.Conn // nil where it was opened while the wire swallowed everything
	gone    chan struct{}
	replies chan reply
	holed   bool // something of it was swallowed; guarded by the wire's mu
}

// reply is a piece of one, or of several.
type reply struct {
	due  time.Time
	data []byte
}

// takeRequests hands on what the client sends.
func (l *link) takeRequests() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := l.client.Read(buffer)
		if err != nil {
			return
		}
		if l.swallow() {
			l.wire.swallowed.Add(1)
			continue
		}
		if _, err := l.server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// takeReplies reads what the server answers, until it hangs up, and notes when it
// may arrive.
func (l *link) takeReplies() {
	defer close(l.replies)
	for {
		buffer := make([]byte, 32<<10)
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		f, _ := l.wire.look()
		select {
		case l.replies <- reply{time.Now().Add(f.delay), buffer[:n]}:
		case <-l.gone:
			return
		}
	}
}

// giveReplies lets the replies arrive, or not.
func (l *link) giveReplies() {
	defer l.wire.cut(l)
	for {
		select {
		case r, more := <-l.replies:
			if !more {
				l.hangUp()
				return
			}
			if !l.give(r) {
				return
			}
		case <-l.gone:
			return
		}
	}
}

// hangUp returns when the client may learn that the server has hung up.
func (l *link) hangUp() {
	if l.swallow() {
		<-l.gone
	}
}

// give says whether the connection goes on.
func (l *link) give(r reply) bool {
	if !l.wait(time.Until(r.due)) || !l.released() {
		return false
	}
	if l.swallow() {
		return true
	}
	if f, _ := l.wire.look(); f.losing {
		l.wire.lost.Add(1)
		return false
	}
	_, err := l.client.Write(r.data)
	return err == nil
}

// wait says whether the connection outlived d.
func (l *link) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.gone:
		return false
	}
}

// released waits until replies aren't held back, and says whether the connection
// outlived that.
func (l *link) released() bool {
	for counted := false; ; {
		f, moved := l.wire.look()
		if !f.holding {
			return true
		}
		if !counted {
			l.wire.held.Add(1)
			counted = true
		}
		select {
		case <-moved:
		case <-l.gone:
			return false
		}
	}
}

// swallow says whether nothing passes now, and if so notes that something is
// missing.
func (l *link) swallow() bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	l.holed = l.holed || l.wire.faults.swallowing
	return l.holed
}
