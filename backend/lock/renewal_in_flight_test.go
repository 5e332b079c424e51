package lock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A renewal is under way while the lock is given back. Whichever reaches Redis first,
// no lock is left, and nothing of it runs when unlock returns.
func TestRenewalOutlivesUnlock(t *testing.T) {
	t.Parallel()
	for name, renewalFirst := range map[string]bool{"renewal first": true, "release first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			direct := dial(t, s.Addr())
			underWay, released := make(chan struct{}), make(chan struct{})
			c := &tapped{Client: dial(t, s.Addr())}
			opt := slow(c)
			opt.TTL = 3 * time.Second // renewed after one
			c.call = func(what string, send func() *redis.Cmd) *redis.Cmd {
				switch {
				case what == renewing && renewalFirst:
					answer := send()
					close(underWay)
					<-released
					return answer
				case what == renewing:
					close(underWay)
					<-released
					return send()
				case what == releasing:
					defer close(released)
				}
				return send()
			}

			h, _, unlock := mustLock(t, NewRedis(opt), "1001")
			await(t, "a renewal is under way", underWay)
			mustUnlock(t, unlock)
			select {
			case <-h.over:
			default:
				t.Error("unlock returned while the watchdog ran")
			}
			if got := direct.Get(t.Context(), key1001).Val(); got != "" {
				t.Errorf("the lock is held by %q", got)
			}
		})
	}
}
