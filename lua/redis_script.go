package lua

import (
	"context"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by it
	_ "embed"     // the scripts
	"encoding/hex"
	"errors"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed server.lua
	serverLua string
	//go:embed note.lua
	noteLua string
	//go:embed admit.lua
	admitLua string
	//go:embed restore.lua
	restoreLua string
	//go:embed seed.lua
	seedLua string
	//go:embed flip.lua
	flipLua string
	//go:embed view.lua
	viewLua string
)

var (
	admitScript   = newScript(serverLua + noteLua + admitLua)
	restoreScript = newScript(serverLua + noteLua + restoreLua)
	seedScript    = newScript(seedLua)
	flipScript    = newScript(serverLua + flipLua)
	viewScript    = newScript(serverLua + viewLua)
)

// script is one that a server knows by its digest, once it has seen it.
type script struct{ source, digest string }

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // what EVALSHA calls it by; nothing secret hangs on it
	return script{source, hex.EncodeToString(sum[:])}
}

// run runs the script. Only a server that says that it doesn't know the script is
// asked a second time, since it has surely not run it; nothing else is. The second
// time carries the source, from which the server learns it.
func (s script) run(ctx context.Context, client Scripter, keys []string, args []any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, err := client.EvalSha(ctx, s.digest, keys, args...).Result()
	if isNoScript(err) {
		answer, err = client.Eval(ctx, s.source, keys, args...).Result()
	}
	return answer, err
}

func isNoScript(err error) bool {
	return errors.Is(err, redis.ErrNoScript) || redis.HasErrorPrefix(err, "NOSCRIPT")
}
