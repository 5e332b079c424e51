package lua

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// libraryLog is the log of the client library, of which a process has one: it tells
// of each connection that fails, in a rush thousands of times, and each of them is
// an error that its caller has seen already.
type libraryLog struct{ to atomic.Pointer[slog.Logger] }

var theLibraryLog libraryLog

// takeOverLog makes the library log to us, where it would write to standard error
// otherwise. Once: whoever wants another log sets it after the first Dial. The
// library reads its logger atomically, so this races with nothing.
var takeOverLog = sync.OnceFunc(func() { redis.SetLogger(&theLibraryLog) })

// LogTo says where go to, at level Debug, the messages of the client library behind
// [Dial]; nil for nowhere, as at the start. It is one place for the whole process,
// and may be changed at any time.
func LogTo(log *slog.Logger) { theLibraryLog.to.Store(log) }

// Printf is called by the library.
func (l *libraryLog) Printf(ctx context.Context, format string, v ...any) {
	log := l.to.Load()
	if log == nil || !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	log.DebugContext(ctx, "Redis client", "message", fmt.Sprintf(format, v...))
}
