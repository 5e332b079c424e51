package lock

import (
	"context"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by it
	_ "embed"     // the scripts
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed acquire.lua
	acquireLua string
	//go:embed renew.lua
	renewLua string
	//go:embed release.lua
	releaseLua string
)

var (
	acquireScript = newScript(acquireLua)
	renewScript   = newScript(renewLua)
	releaseScript = newScript(releaseLua)
)

// outcome is what renew.lua and release.lua return.
type outcome int64

const (
	done   outcome = 1
	others outcome = 2 // another token holds the lock
	nobody outcome = 3 // the key is missing
)

// err is nil where the token still had the lock.
func (o outcome) err() error {
	switch o {
	case others:
		return ErrNotOwner
	case nobody:
		return ErrExpired
	default:
		return nil
	}
}

// claim is one wish for a lock, under a token of its own.
type claim struct {
	key   string // in Redis, and the channel of those who wait
	token string
	ttl   time.Duration
}

// keyOf names the lock of an item. The braces are a hash tag: it lives on the node
// that has all else of the item.
func keyOf(item string) string { return "rg:{" + item + "}:lock" }

// take runs acquire.lua: 0 says that the claim's token holds the lock, anything else
// how long the holder can have it, and less than 0 that there is no end to that.
func (c claim) take(ctx context.Context, client Client) (left time.Duration, err error) {
	ms, err := acquireScript.run(ctx, client, c.key, c.token, millis(c.ttl))
	return time.Duration(ms) * time.Millisecond, err
}

func (c claim) renew(ctx context.Context, client Client) (outcome, error) {
	return readOutcome(renewScript.run(ctx, client, c.key, c.token, millis(c.ttl)))
}

func (c claim) release(ctx context.Context, client Client) (outcome, error) {
	return readOutcome(releaseScript.run(ctx, client, c.key, c.token))
}

func readOutcome(code int64, err error) (outcome, error) {
	o := outcome(code)
	if err == nil && (o < done || o > nobody) {
		err = fmt.Errorf("redis answered %d, which this version does not know", code)
	}
	return o, err
}

// millis rounds up, so that Redis keeps a lock for at least as long as its holder
// counts on.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// script is one that a server knows by its digest, once it has seen it.
type script struct{ source, digest string }

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // what EVALSHA calls it by; nothing secret hangs on it
	return script{source, hex.EncodeToString(sum[:])}
}

// run runs the script on one key. Only a server that doesn't know the script, and so
// has not run it, is asked a second time, with the source.
func (s script) run(ctx context.Context, client Client, key string, args ...any) (int64, error) {
	answer := client.EvalSha(ctx, s.digest, []string{key}, args...)
	if err := answer.Err(); errors.Is(err, redis.ErrNoScript) || redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer = client.Eval(ctx, s.source, []string{key}, args...)
	}
	return answer.Int64()
}
