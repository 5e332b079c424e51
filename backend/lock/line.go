package lock

import (
	"context"
	"sync"
)

// lines are the queues within this process, one for each key that somebody waits for
// or holds.
type lines struct {
	opt       RedisOptions
	listeners chan struct{} // one inside for each that runs

	mu    sync.Mutex
	byKey map[string]*line
}

func newLines(o RedisOptions) lines {
	return lines{opt: o, listeners: make(chan struct{}, o.Subscriptions), byKey: make(map[string]*line)}
}

// line is the queue for one key. Its turn belongs to the caller that contends in
// Redis, and then, with the lock, until that is given back or lost: meanwhile nobody
// else of this process could have it.
type line struct {
	turn  chan struct{} // one inside: taken
	woken chan struct{} // one inside: worth another try

	inside  int                // waiting or holding; guarded by lines.mu
	waiting int                // guarded by lines.mu
	deafen  context.CancelFunc // ends the listener, nil without one; guarded by lines.mu
}

// enter joins the key's line and waits there for the turn. The error is the cause of
// ctx.
func (ls *lines) enter(ctx context.Context, key string) (*line, error) {
	l := ls.join(key)
	select {
	case <-ctx.Done():
	case l.turn <- struct{}{}:
		return l, nil
	}
	ls.served(l)
	ls.quit(key, l)
	return nil, context.Cause(ctx)
}

// leave gives the turn to the next in line.
func (ls *lines) leave(key string, l *line) {
	<-l.turn
	ls.quit(key, l)
}

func (ls *lines) join(key string) *line {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byKey[key]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1), woken: make(chan struct{}, 1)}
		ls.byKey[key] = l
	}
	l.inside++
	l.waiting++
	return l
}

// served says that a caller waits no more. Where it was the last, nobody listens.
func (ls *lines) served(l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.waiting--; l.waiting == 0 && l.deafen != nil {
		l.deafen()
		l.deafen = nil
	}
}

func (ls *lines) quit(key string, l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.inside--; l.inside == 0 {
		delete(ls.byKey, key)
	}
}
