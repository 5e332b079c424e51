package server

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"rushgate/gateway/identity"
	"rushgate/gateway/limit"
)

func addressList(x *exchange) bool {
	if x.policy.blacklist.HasAddr(x.client) {
		return x.no("blacklisted")
	}
	return true
}

func userList(x *exchange) bool {
	if len(x.user) > 0 && x.policy.blacklist.HasUserBytes(x.user) {
		return x.no("blacklisted")
	}
	return true
}

func ipLimit(x *exchange) bool {
	if x.policy.exempt.Contains(x.client) {
		return true
	}
	return x.within("ip", x.s.limits.ip.Allow(identity.Key(x.client, x.policy.ipv6Prefix), x.at))
}

func userLimit(x *exchange) bool {
	return x.within("user", limit.AllowBytes(x.s.limits.user, x.user, x.at))
}

func itemLimit(x *exchange) bool {
	return x.within("item", x.s.limits.items.Allow(x.sale.Item, x.at))
}

func globalLimit(x *exchange) bool { return x.within("global", x.s.limits.global.Allow(x.at)) }

// within goes on, or refuses with the scope that is used up.
func (x *exchange) within(scope string, d limit.Decision) bool {
	if d.OK {
		return true
	}
	x.limit = d
	return x.refuse(&refusal{code: "limited", scope: scope, wait: d.RetryAfter, limit: &x.limit})
}

// identify finds out who asks, or refuses.
func identify(x *exchange) bool {
	value, n := x.head.Get("X-User-Id")
	user, err := x.policy.identity.User(x.peer, value, n)
	switch {
	case errors.Is(err, identity.ErrUnauthenticated):
		return x.no("unauthenticated")
	case err != nil:
		return x.bad(err.Error())
	}
	x.user = user
	return true
}

// identifyIfAny finds out who asks where somebody says so. An upstream is told
// only what was verified.
func identifyIfAny(x *exchange) bool {
	value, n := x.head.Get("X-User-Id")
	if user, err := x.policy.identity.User(x.peer, value, n); err == nil {
		x.user = user
	}
	return true
}

// findSale finds the item among the sales.
func findSale(x *exchange) bool {
	snapshot := x.s.catalogue.Snapshot()
	if snapshot == nil {
		return x.refuse(&refusal{code: "overloaded", wait: time.Second}) // not yet known what is on sale
	}
	if x.sale = snapshot.Sale(x.arg); x.sale == nil {
		return x.no("no_such_item")
	}
	return true
}

// notStarted refuses what comes too early without asking anyone, as long as the
// clock cannot be wrong about it. A repeat goes on: it may have an outcome from
// before the window was moved.
func notStarted(x *exchange) bool {
	now := x.s.clock.Millis()
	if x.repeat || now+x.s.clock.Error().Milliseconds() >= x.sale.StartsAt {
		return true
	}
	return x.refuse(tooEarly(x.sale.StartsAt, now))
}

func tooEarly(startsAt, now int64) *refusal {
	return &refusal{code: "not_started", startsAt: startsAt, now: now, wait: max(time.Duration(startsAt-now)*time.Millisecond, time.Millisecond)}
}

// soldOut refuses what a fresh mark refuses, by its name after the end too. The
// user is a mere claim here: all that it opens is the way to the stages that
// check it.
func soldOut(x *exchange) bool {
	if x.repeat {
		return true
	}
	claim, _ := x.head.Get("X-User-Id")
	switch {
	case !x.s.gate.SoldOut(x.arg, claim, x.qty):
		return true
	case x.s.clock.Millis() >= x.sale.EndsAt:
		return x.no("ended")
	}
	return x.no("sold_out")
}

// deadline bounds one call to the backend, apart from a purchase, whose time the
// gate knows.
func (x *exchange) deadline() (context.Context, context.CancelFunc) {
	return context.WithTimeout(x.s.base, x.s.opt.Timeout)
}

func answerTime(x *exchange) bool {
	h := &x.ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Timing-Allow-Origin", "*")
	return x.json(fasthttp.StatusOK, x.s.clock.Append(make([]byte, 0, 96), x.at, x.s.now()))
}

// answerPage serves the sale page and its modules.
func answerPage(x *exchange) bool {
	file, ok := x.s.pages[string(x.head.Path())]
	if !ok {
		return x.no("no_route")
	}
	tag, _ := x.head.Get("If-None-Match")
	r := file.Serve(string(tag))
	x.ctx.Response.SetStatusCode(r.Status)
	for _, f := range r.Header {
		x.ctx.Response.Header.Set(f.Name, f.Value)
	}
	x.ctx.Response.SetBodyRaw(r.Body)
	return false
}
