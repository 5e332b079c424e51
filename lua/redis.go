package lua

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Scripter runs scripts on the primary of a Redis; any client of go-redis is one.
// A call must reach the server at most once: a client that sends again after an
// error can't tell a lost reply from a lost request. [Dial] makes a client that
// doesn't.
type Scripter interface {
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
}

// RedisOptions are what a [Redis] is made of.
type RedisOptions struct {
	Client Scripter
	// Keep is how long after its end a sale is remembered; 0 or less means
	// DefaultKeep. Until then a late request is told Ended, afterwards Stale.
	Keep time.Duration
}

// Redis is an admission filter in a Redis that many gateways share: the decisions
// of [Memory], made by scripts, each of them atomic. What the user that it is reached
// as must be allowed is in [ACL].
//
// Every number must be below 2^53, where a script's numbers stop being exact.
//
// Whatever the server answers with that is no answer of the scripts (out of memory,
// busy, loading, a replica) and whatever goes wrong on the way is an error, and an
// error means that the call may have been executed. Calls are bounded by the
// deadline of their context and by the client's timeouts, whichever is sooner; a
// context that is cancelled stops a call before it is sent and not under way.
type Redis struct {
	client Scripter
	keep   int64 // milliseconds
}

var _ Filter = (*Redis)(nil)

// NewRedis returns a filter in the Redis of the client. The client is the caller's
// to close.
func NewRedis(o RedisOptions) *Redis {
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	return &Redis{client: o.Client, keep: o.Keep.Milliseconds()}
}

// maxBatch is how many requests one Admit may carry. The script spreads the users
// and their notes over Lua's stack, which ends at 8,000 values.
const maxBatch = 2048

// Admit implements [Filter]. A batch has at most 2,048 requests.
func (r *Redis) Admit(ctx context.Context, b Batch) (Reply, error) {
	if err := errors.Join(checkBatch(b), checkRedisBatch(b)); err != nil {
		return Reply{}, err
	}
	k := keysOf(b.Item)
	epochKeys := []string{k.meta(), k.stock(b.Epoch), k.buyers(b.Epoch)}
	answer, err := admitScript.run(ctx, r.client, epochKeys, admitArgs(b))
	if err != nil {
		return Reply{}, fmt.Errorf("admit %q: %w", b.Item, err)
	}
	reply, err := readAdmit(answer, len(b.Requests))
	if err != nil {
		return Reply{}, fmt.Errorf("admit %q: %w", b.Item, err)
	}
	return reply, nil
}

// admitArgs names each user once, so that the script reads and writes a note once
// however often its user asks.
func admitArgs(b Batch) []any {
	number := make(map[string]int, len(b.Requests))
	args := make([]any, 3, 3+4*len(b.Requests))
	for _, r := range b.Requests {
		if _, there := number[r.User]; !there {
			number[r.User] = len(number) + 1
			args = append(args, r.User)
		}
	}
	args[0], args[1], args[2] = b.Epoch, b.Version, len(number)
	for _, r := range b.Requests {
		args = append(args, number[r.User], r.BizID, exact(int64(r.Qty)))
	}
	return args
}

// Restore implements [Filter], with the rules of [Memory.Restore].
func (r *Redis) Restore(ctx context.Context, item, user, bizID string, qty int64) (bool, error) {
	if err := errors.Join(checkRestore(item, qty), checkUser("restore", item, user)); err != nil {
		return false, err
	}
	answer, err := restoreScript.run(ctx, r.client, []string{keysOf(item).meta()}, []any{user, bizID, exact(qty)})
	if err != nil {
		return false, fmt.Errorf("restore %q: %w", item, err)
	}
	switch answer {
	case int64(1):
		return true, nil
	case int64(0):
		return false, nil
	}
	return false, fmt.Errorf("restore %q: %w", item, errShape)
}

// View implements [Filter]. Of a sale that is stale it tells the epoch alone. The
// buyers are read in one piece, which holds Redis up for as long as that takes:
// ask for them when the sale is quiet.
func (r *Redis) View(ctx context.Context, item string, withBuyers bool) (View, error) {
	with := 0
	if withBuyers {
		with = 1
	}
	answer, err := viewScript.run(ctx, r.client, []string{keysOf(item).meta()}, []any{with})
	if err != nil {
		return View{}, fmt.Errorf("view %q: %w", item, err)
	}
	v, err := readView(answer, withBuyers)
	if err != nil {
		return View{}, fmt.Errorf("view %q: %w", item, err)
	}
	return v, nil
}
