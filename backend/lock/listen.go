package lock

import (
	"context"
	"time"
)

// listen makes the line hear of releases for as long as somebody waits in it, unless
// it does already, or too many others do.
func (ls *lines) listen(key string, l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.deafen != nil {
		return
	}
	select {
	case ls.listeners <- struct{}{}:
	default:
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.deafen = cancel
	go func() {
		defer func() { <-ls.listeners }()
		hear(ctx, ls.opt.Client, key, ls.opt.Poll, l.wake)
	}()
}

// wake tells the head of the line to try again. A head that is busy finds the word
// afterwards.
func (l *line) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// hear calls wake for all that comes on a channel until ctx is cancelled. The word
// that a subscription is there, the first or one after a connection broke, is as good
// as a release: there may have been one before it.
func hear(ctx context.Context, client Client, channel string, pause time.Duration, wake func()) {
	subscription := client.Subscribe(ctx, channel)
	context.AfterFunc(ctx, func() { _ = subscription.Close() }) // ends Receive
	for ctx.Err() == nil {
		if _, err := subscription.Receive(ctx); err == nil {
			wake()
			continue
		}
		select { // the next Receive connects again
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
