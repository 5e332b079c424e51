package lua

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lua/luatest"
)

// A replica that takes over carries the right epoch and may lack the last writes.
func TestReplicaIsBelievedAfterPromotion(t *testing.T) {
	t.Parallel()
	first := luatest.Start(t)
	s, c := overRedis(t, first.Addr())
	s.open(t, "1001", 10)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1")), Admitted)
	second := luatest.StartReplica(t, first)
	copied, _ := overRedis(t, second.Addr())

	// A replica is no primary, even where the answer would be a refusal.
	for call, err := range everyCall(copied, Batch{Item: "1001", Epoch: 1, Requests: []Request{ask("ann", "k1")}}) {
		if !redis.HasErrorPrefix(err, "READONLY") {
			t.Errorf("%s of a replica: error %v, want READONLY", call, err)
		}
	}

	second.Promote()
	verdicts(t, copied.admit(t, "1001", ask("ann", "k1"), ask("bob", "k2")), Stale, Stale)
	if v := copied.view(t, "1001"); !v.Stale || v.Epoch != 1 {
		t.Errorf("View after a promotion = %+v, want epoch 1, stale", v)
	}

	// And back: the first follows the second and is promoted again. Its own keys
	// are those it was seeded with, and it must not believe them.
	first.Follow(second)
	first.Promote()
	reconnect(t, c)
	verdicts(t, s.admit(t, "1001", ask("ann", "k1"), ask("bob", "k2")), Stale, Stale)
	s.open(t, "1001", 9, epoch(2), buyers(map[string]Note{"ann": {1, []string{"k1"}}}))
	verdicts(t, s.batch(t, Batch{Item: "1001", Epoch: 2, Requests: []Request{ask("ann", "k1"), ask("bob", "k2")}}), Again, Admitted)
}

// everyCall makes each call once, a seed of the next epoch among them, and returns
// the errors.
func everyCall(f Filter, b Batch) map[string]error {
	ctx, errs := context.Background(), map[string]error{}
	now := time.Now().UnixMilli()
	_, errs["Admit"] = f.Admit(ctx, b)
	_, errs["Restore"] = f.Restore(ctx, b.Item, b.Requests[0].User, b.Requests[0].BizID, 1)
	_, errs["View"] = f.View(ctx, b.Item, true)
	errs["Seed"] = f.Seed(ctx, Seed{Item: b.Item, Epoch: b.Epoch + 1, StartsAt: now, EndsAt: now + 60_000, PerUser: 1, Stock: 1})
	return errs
}
