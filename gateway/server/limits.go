package server

import (
	"net/netip"
	"time"

	"rushgate/config"
	"rushgate/gateway/limit"
)

// MaxItems bounds the sales that get a limit of their own at a time.
const MaxItems = 10_000

// ItemLimit limits each item. Methods are safe for concurrent use, and Allow
// waits no longer than a request may.
type ItemLimit interface {
	Allow(item string, now time.Time) limit.Decision
	// Set changes the rates from now on, and hands out no burst.
	Set(now time.Time, r limit.ItemRates)
}

// GlobalLimit limits all requests together. Methods are safe for concurrent use,
// and Allow waits for nobody.
type GlobalLimit interface {
	Allow(now time.Time) limit.Decision
	// Set changes the rate from now on, and hands out no burst.
	Set(now time.Time, r limit.Rate)
}

// limits are the buckets of every scope. They outlive every policy: a new rate
// moves a bucket, and never fills it.
type limits struct {
	ip     *limit.Keyed[netip.Addr]
	user   *limit.Keyed[string]
	items  ItemLimit
	global GlobalLimit
}

func newLimits(c *config.Limits, opt *Options, now time.Time) limits {
	l := limits{
		ip:    limit.NewKeyed[netip.Addr](ipRate(c), c.Keys, now),
		user:  limit.NewKeyed[string](limit.Rate(c.User), c.Keys, now),
		items: opt.Items, global: opt.Global,
	}
	if l.items == nil {
		l.items = limit.NewItems(ItemRates(c), MaxItems)
	}
	if l.global == nil {
		l.global = limit.NewBucket(GlobalRate(c))
	}
	return l
}

// set changes the rates from now on.
func (l *limits) set(now time.Time, c *config.Limits) {
	l.ip.Set(now, ipRate(c))
	l.user.Set(now, limit.Rate(c.User))
	l.items.Set(now, ItemRates(c))
	l.global.Set(now, GlobalRate(c))
}

func ipRate(c *config.Limits) limit.Rate { return limit.Rate{QPS: c.IP.QPS, Burst: c.IP.Burst} }

// GlobalRate is the rate of all requests together.
func GlobalRate(c *config.Limits) limit.Rate {
	return limit.Rate{QPS: c.Global.QPS, Burst: c.Global.Burst}
}

// ItemRates are the rates of items.
func ItemRates(c *config.Limits) limit.ItemRates {
	r := limit.ItemRates{Default: limit.Rate{QPS: c.Item.QPS, Burst: c.Item.Burst}, Overrides: make(map[string]limit.Rate, len(c.Items))}
	for id, own := range c.Items {
		r.Overrides[id] = limit.Rate(own)
	}
	return r
}
