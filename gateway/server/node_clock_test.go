package server

import (
	"strings"
	"testing"
	"time"

	"rushgate/config"
	"rushgate/gateway/timesync"
)

// A node goes by the clock that it is given, in every stage.
func TestStageReadsAnotherClock(t *testing.T) {
	clock := newStepped(time.Now())
	g := build(t, func(c *config.Config) { c.Limits.User = config.Rate{QPS: 0.01, Burst: 1} }, clock.option, func(o *Options) { o.Filter = nil })
	g.run(t)
	early := with(purchase("u"), func(r *request) { r.path = "/seckill/early" })
	if got := g.outcome(early); got != "not_started" {
		t.Errorf("an hour before: %s", got)
	}
	clock.step(time.Hour)
	if got := g.outcome(early); got != "Created" {
		t.Errorf("an hour later: %s", got)
	}
	if got := g.outcome(early); got != "limiteduser" {
		t.Errorf("at the same moment: %s", got)
	}
	clock.step(100 * time.Second)
	if got := g.outcome(early); got != "Created" {
		t.Errorf("when a token has flown in: %s", got)
	}
	if now, want := g.send(get("/time")).member.Now, clock.now().UnixMilli(); now != want {
		t.Errorf("/time says %d, the node's clock %d", now, want)
	}
}

// The sale's clock may be another one than the node's, and its owner sets it.
func TestSaleGoesByTheNodesClock(t *testing.T) {
	clock := timesync.New(time.Now)
	g := build(t, nil, func(o *Options) { o.Clock, o.Filter = clock, nil })
	g.run(t)
	early := with(purchase("u"), func(r *request) { r.path = "/seckill/early" })
	if got := g.outcome(early); got != "not_started" {
		t.Errorf("by the node's clock: %s", got)
	}
	clock.Set(timesync.Redis, timesync.Estimate{At: time.Now(), Offset: 90 * time.Minute})
	if got := g.outcome(early); got != "Created" {
		t.Errorf("half an hour into the sale: %s", got)
	}
	if a := g.send(get("/time")); !strings.Contains(a.body, `"source":"redis"`) {
		t.Error(a.body)
	}
}
