package main

import (
	"maps"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/lua/luatest"
)

// rig is a shop whose filter and lock are in a Redis that is about to have a
// fault. Between the two lies a wire, which a failover moves to another server.
type rig struct {
	*shop
	redis *luatest.Server
	wire  *luatest.Wire
}

// paced makes a sale last long enough for something to happen in the middle of
// it, with the gateway's own limit, and the breaker quick to see it.
var paced = map[string]string{
	"limits.items":    `{"1": {qps: 10, burst: 2}}`,
	"limits.user.qps": "1000000", "limits.user.burst": "1000000",
	"limits.refuse.qps": "1000000", "limits.refuse.burst": "1000000",
	"breaker.min_requests": "5", "breaker.window": "2s", "breaker.open_for": "1s",
}

func openRig(t *testing.T) *rig {
	t.Helper()
	return openRigOn(t, luatest.Start(t))
}

func openRigOn(t *testing.T, s *luatest.Server) *rig {
	t.Helper()
	w := luatest.NewWire(t, s)
	flags := redisFlags(w.Addr())
	maps.Copy(flags, paced)
	r := &rig{shop: openShop(t, shopOptions{flags: flags}), redis: s, wire: w}
	t.Cleanup(r.explain)
	return r
}

// explain says of a test that failed which way purchases went.
func (r *rig) explain() {
	if !r.t.Failed() {
		return
	}
	families, err := r.registry.Gather()
	r.t.Logf("gathering: %v", err)
	for _, f := range families {
		switch f.GetName() {
		case "rushgate_admissions_total", "rushgate_tickets_total", "rushgate_breaker_state", "rushgate_orders_total", "rushgate_reseeds_total", "rushgate_requests_total":
			for _, m := range f.GetMetric() {
				r.t.Logf("%s %v", f.GetName(), m)
			}
		}
	}
}

// survive sells 60 units while the fault happens in the middle of it, and shows
// that the sale went on without Redis, that Redis came back by itself, and that
// the books are exact. broken says whether purchases must go past the filter
// while the fault lasts.
func (r *rig) survive(broken bool, begin func() (end func())) {
	r.t.Helper()
	const units = 60
	r.sell(saleOf("1", units))
	admin := r.private.Addr().String()
	crowd := besiege("1", 24, r.door)
	r.eventually("the first are sold through Redis", func() bool { return byPath(r.t, admin, api.PathRedis) >= 10 })
	end := begin()
	if broken {
		sold := byPath(r.t, admin, api.PathDB)
		r.eventually("the sale goes on without Redis", func() bool { return byPath(r.t, admin, api.PathDB) >= sold+10 })
	}
	end()
	r.eventually("everything is sold", func() bool { return r.left("1") == 0 })
	honest(r.t, r.backend.Store, "1", units, crowd.end())
	r.returns()
	r.settled()
}

// returns shows that new sales go through Redis again.
func (r *rig) returns() {
	r.t.Helper()
	const units = 20
	admin := r.private.Addr().String()
	before := byPath(r.t, admin, api.PathRedis)
	r.sell(saleOf("2", units))
	crowd := besiege("2", 4, r.door)
	r.eventually("purchases go through Redis again", func() bool { return byPath(r.t, admin, api.PathRedis) > before })
	r.eventually("everything is sold again", func() bool { return r.left("2") == 0 })
	honest(r.t, r.backend.Store, "2", units, crowd.end())
	r.eventually("the breaker is closed", func() bool {
		return counted(r.t, admin, "rushgate_breaker_state", `state="closed"`) == 1
	})
}

// The rush of the first shop, with each of the three worst losses in the middle.
func TestRushLosesRedis(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*rig, *luatest.Pair) (end func()){
		"killed, and started again empty": func(r *rig, _ *luatest.Pair) func() { r.redis.Kill(); return r.redis.Restart },
		"frozen for ten seconds":          func(r *rig, _ *luatest.Pair) func() { return r.freeze() },
		"promoted after losing its tail": func(r *rig, pair *luatest.Pair) func() {
			sold := r.left("1001")
			pair.LoseTail(func() {
				r.eventually("more are sold, of which the replica does not hear", func() bool { return r.left("1001") <= sold-5 })
			})
			r.wire.Point(pair.Replica)
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := luatest.StartPair(t)
			wire := luatest.NewWire(t, pair.Primary)
			flags := rushFlags()
			maps.Copy(flags, redisFlags(wire.Addr()))
			maps.Copy(flags, paced)
			flags["limits.items"] = `{"1001": {qps: 25, burst: 2}}`
			r := &rig{shop: openShop(t, shopOptions{flags: flags, demo: true}), redis: pair.Primary, wire: wire}
			r.rush(func() func() { return begin(r, pair) })
			r.settled()
			r.returns()
		})
	}
}

// rush lets the rush come, with a loss in the middle, and shows that exactly the
// hundred units were sold.
func (r *rig) rush(begin func() (end func())) {
	r.t.Helper()
	rush := newRush(3, rushRequests/2)
	told := make(chan []answer)
	go func() { told <- r.crowd(128, rush.clicks) }()
	r.eventually("the first are sold", func() bool { return r.left("1001") <= 80 })
	end := begin()
	r.eventually("more are sold meanwhile", func() bool { return r.left("1001") <= 60 })
	end()
	answers := <-told
	rush.check(r.t, answers)
	r.insist(rush.clicks, answers)
	r.eventually("everything is sold", func() bool {
		answers = append(answers, r.crowd(8, freshClicks("1001", "late", 16))...)
		return r.left("1001") == 0
	})
	if n := len(orderIDs(answers)); n != 100 {
		r.t.Fatalf("%d orders told, want 100", n)
	}
	each201HasItsRow(r.t, r.shop, answers)
}

// fault is what can happen to a Redis in the middle of a sale.
type fault struct {
	begin func(*rig) (end func())
	// filtered says that purchases may go through the filter all the same.
	filtered bool
}

var faults = map[string]fault{
	"killed, and started again empty": {begin: func(r *rig) func() { r.redis.Kill(); return r.redis.Restart }},
	"restarted empty at once":         {filtered: true, begin: func(r *rig) func() { r.redis.Kill(); r.redis.Restart(); return func() {} }},
	"refuses connections":             {begin: func(r *rig) func() { r.wire.Refuse(true); return func() { r.wire.Refuse(false) } }},
	"blackholed":                      {begin: func(r *rig) func() { r.wire.Blackhole(true); return func() { r.wire.Blackhole(false) } }},
	"one-way, its replies held":       {begin: func(r *rig) func() { r.wire.Hold(true); return func() { r.wire.Hold(false) } }},
	"executes and loses its replies":  {begin: func(r *rig) func() { r.wire.LoseReplies(true); return func() { r.wire.LoseReplies(false) } }},
	"slow by two seconds":             {begin: func(r *rig) func() { r.wire.Delay(2 * time.Second); return func() { r.wire.Delay(0) } }},
	"out of memory":                   {begin: func(r *rig) func() { return r.redis.FillMemory() }},
	"busy with another script":        {begin: func(r *rig) func() { return r.redis.Busy() }},
	"read-only, a replica":            {begin: func(r *rig) func() { return r.redis.Demote() }},
	"a replica without its master":    {begin: func(r *rig) func() { return r.redis.LoseMaster() }},
	"without the replicas it needs":   {begin: func(r *rig) func() { return r.redis.LackReplicas() }},
	"forgetting every script":         {filtered: true, begin: func(r *rig) func() { r.flushScripts(); return r.flushScripts }},
}

func TestRedisFaultInTheMiddleOfASale(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := openRig(t)
			r.survive(!f.filtered, func() func() { return f.begin(r) })
		})
	}
}

func (r *rig) flushScripts() {
	r.t.Helper()
	if err := r.redis.Client().ScriptFlush(r.t.Context()).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// frozenFor is longer than any bound that the gateway has.
const frozenFor = 10 * time.Second

func TestRedisFrozenForTenSeconds(t *testing.T) {
	t.Parallel()
	r := openRig(t)
	r.survive(true, r.freeze)
}

func (r *rig) freeze() (end func()) {
	r.redis.Pause()
	thawed := time.After(frozenFor)
	return func() { <-thawed; r.redis.Continue() }
}

// The replica carries the right epoch and has not heard of the last admissions.
func TestReplicaPromotedAfterLosingItsTail(t *testing.T) {
	t.Parallel()
	pair := luatest.StartPair(t)
	r := openRigOn(t, pair.Primary)
	r.survive(false, func() func() {
		sold := r.left("1")
		pair.LoseTail(func() {
			r.eventually("more are sold, of which the replica does not hear", func() bool { return r.left("1") <= sold-5 })
		})
		r.wire.Point(pair.Replica)
		return func() {}
	})
}

func TestFailedOverAndBack(t *testing.T) {
	t.Parallel()
	pair := luatest.StartPair(t)
	r := openRigOn(t, pair.Primary)
	r.survive(false, func() func() {
		pair.LoseTail(nil)
		r.wire.Point(pair.Replica)
		r.eventually("the replica sells", func() bool {
			v, err := r.filter.View(t.Context(), "1", false)
			return err == nil && !v.Stale
		})
		pair.Primary.Restart()
		pair.Primary.Follow(pair.Replica)
		return func() {
			pair.Primary.Promote()
			r.wire.Point(pair.Primary)
		}
	})
}

// The address leads to a copy that stopped following long ago: an older epoch.
func TestReplacedByAnOlderReplica(t *testing.T) {
	t.Parallel()
	pair := luatest.StartPair(t)
	r := openRigOn(t, pair.Primary)
	r.survive(false, func() func() {
		pair.Link.Refuse(true)
		if _, err := r.backend.Seeder.Reseed(t.Context(), "1", "test"); err != nil {
			t.Fatal(err)
		}
		sold := r.left("1")
		r.eventually("more are sold under an epoch of which it does not hear", func() bool { return r.left("1") <= sold-5 })
		pair.Primary.Kill()
		pair.Replica.Promote()
		r.wire.Point(pair.Replica)
		return func() {}
	})
}
