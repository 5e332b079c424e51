package main

import (
	"net/http"
	"testing"
	"time"

	"rushgate/lua/luatest"
)

// Nodes whose clocks are apart open a sale at the same moment, which is Redis'.
// Each request is sent between two looks at that clock: one that is let in was
// answered after the opening, and one that came too early was sent before it.
func TestNodesWithOtherClocksOpenTogether(t *testing.T) {
	redis := luatest.Start(t)
	for name, off := range map[string]time.Duration{
		"two seconds ahead": 2 * time.Second, "two seconds behind": -2 * time.Second,
		"five minutes ahead": 5 * time.Minute, "five minutes behind": -5 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			s := openShop(t, shopOptions{flags: redisFlags(redis.Addr()), now: func() time.Time { return time.Now().Add(off) }})
			s.eventually("the gateway knows Redis' clock", func() bool { return s.get("/time", "").Source == "redis" })
			now := func() int64 {
				at, err := redis.Client().Time(t.Context()).Result()
				if err != nil {
					t.Fatal(err)
				}
				return at.UnixMilli()
			}
			item := "off" + off.String()
			sale := saleOf(item, 10)
			sale.StartsAt = now() + 1500
			s.sell(sale)
			s.open(item, sale.StartsAt, now)
		})
	}
}

// open asks until the sale opens, and checks each answer and the page's clock.
func (s *shop) open(item string, startsAt int64, now func() int64) {
	s.t.Helper()
	early, opened := 0, false
	s.eventually("the sale opens", func() bool {
		before := now()
		clock := s.get("/time", "")
		a := s.buy(click{item: item, user: "u", key: "k"})
		after := now()
		if clock.Now < before-clockError || clock.Now > after+clockError {
			s.t.Errorf("/time says %d while Redis' clock goes from %d to %d", clock.Now, before, after)
		}
		switch {
		case a.status == http.StatusTooEarly:
			early++
			if before >= startsAt {
				s.t.Errorf("too early at %d ms after the opening", before-startsAt)
			}
		case a.status == http.StatusCreated:
			opened = true
			if after < startsAt {
				s.t.Errorf("let in %d ms before the opening", startsAt-after)
			}
		case a.Code != "limited": // the user's own limit
			s.t.Errorf("told %s", a.String())
		}
		return opened
	})
	if early == 0 {
		s.t.Error("nobody came before the opening, so nothing was tested")
	}
}

// clockError is how far /time may be off here, in milliseconds: a round trip on a
// busy machine.
const clockError = 250
