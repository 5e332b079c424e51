package lua

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// adviser adds to what a server answers what to do about it, where the answer will
// be the same until somebody changes the configuration.
type adviser struct {
	secure bool        // over TLS
	worked atomic.Bool // the server has answered before
}

var _ redis.Hook = (*adviser)(nil)

func (*adviser) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*adviser) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements [redis.Hook] for single calls.
func (a *adviser) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		var said redis.Error
		if err == nil || errors.As(err, &said) {
			a.answered()
		}
		if advice := a.about(err, said); advice != "" {
			return fmt.Errorf("%w; %s", err, advice)
		}
		return err
	}
}

func (a *adviser) answered() {
	if !a.worked.Load() { // written once, since all calls share it
		a.worked.Store(true)
	}
}

// about is the advice on an error, which may be something that the server said;
// empty where there is none.
func (a *adviser) about(err error, said redis.Error) string {
	if said == nil {
		if !a.secure && !a.worked.Load() && hungUp(err) {
			return "it has hung up on every call so far: if that is its tls-port, use TLS"
		}
		return ""
	}
	text := said.Error()
	switch {
	case strings.HasPrefix(text, "WRONGPASS"):
		return "correct the user's name or password; ACL GETUSER tells whether the user is on"
	case strings.HasPrefix(text, "NOAUTH"),
		strings.Contains(text, "unauthenticated"): // of a call that is long
		return "redis wants a password: give one"
	case strings.HasPrefix(text, "NOPERM"),
		strings.Contains(text, "user executing the script"), // Redis 7.0
		strings.Contains(text, "ACL failure in script"):     // and later ones
		return "give the user what it needs: ACL SETUSER <name> " + ACL
	}
	return ""
}

func hungUp(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) }
