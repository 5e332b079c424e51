package config

import (
	"fmt"
	"time"
)

const backendTimeout = "upstreams." + backendName + ".timeout"

// minSecret is the length of a signing key in bytes, the size of the hash, as
// RFC 2104 section 3 advises for HMAC.
const minSecret = 32

func (v validator) tickets() {
	seen := map[string]int{}
	for i, k := range v.c.Tickets.Keys {
		path := index("tickets.keys", i)
		if k.ID == "" {
			v.refuse(path+".id", "is missing", "write a short name for the key, e.g. k1")
		}
		v.id(path+".id", k.ID, 32)
		if first, twice := seen[k.ID]; twice {
			v.refuse(path+".id", fmt.Sprintf("%s is the id of tickets.keys[%d] too", quote(k.ID), first), "give each key an id of its own")
		} else {
			seen[k.ID] = i
		}
		v.signingKey(path+".secret_file", k.SecretFile)
	}
	v.positive("tickets.window", v.c.Tickets.Window)
	backend := v.c.Upstreams[backendName]
	v.between(v.c.Tickets.Window < backend.Timeout, "tickets.window", backendTimeout,
		v.c.Tickets.Window.String()+" is shorter than "+v.named(backendTimeout, backend.Timeout),
		"a ticket must live as long as its answer is waited for: write at least "+backend.Timeout.String())
	v.between(len(backend.Servers) > 0 && len(v.c.Tickets.Keys) == 0, "tickets.keys", "upstreams."+backendName+".servers",
		"has no key, and the backend runs on other servers",
		"name a key that gateways and backends share: {id: k1, secret_file: …}")
}

func (v validator) signingKey(path, file string) {
	if file == "" {
		v.refuse(path, "is missing", fmt.Sprintf("name a file with at least %d random bytes", minSecret))
		return
	}
	if secret, ok := v.secret(path, file); ok && len(secret) < minSecret {
		v.refuse(path, fmt.Sprintf("%s holds %d bytes, fewer than %d", quote(file), len(secret), minSecret),
			"make one with: openssl rand -hex 32")
	}
}

func (v validator) lock() {
	l, timeout := v.c.Lock, v.c.Upstreams[backendName].Timeout
	v.word("lock.mode", l.Mode, []string{"auto", "none"}, nil)
	v.positive("lock.ttl", l.TTL)
	if l.TTL < Duration(time.Second) {
		v.refuse("lock.ttl", l.TTL.String()+" is shorter than a second", "write at least 1s: a pause of the process must not lose the lock")
	}
	v.positive("lock.wait", l.Wait)
	v.between(l.Wait >= timeout, "lock.wait", backendTimeout,
		l.Wait.String()+" is not shorter than "+v.named(backendTimeout, timeout),
		"leave time for the order after the wait, e.g. wait 500ms and timeout 3s")
	v.positive("lock.max_hold", l.MaxHold)
	v.between(l.MaxHold < l.TTL, "lock.max_hold", "lock.ttl",
		l.MaxHold.String()+" is shorter than "+v.named("lock.ttl", l.TTL), "write at least "+l.TTL.String())
}

func (v validator) sales() {
	s, o, timeout := v.c.Sales, v.c.Orders, v.c.Upstreams[backendName].Timeout
	v.positive("sales.preheat_lead", s.PreheatLead)
	v.positive("sales.keep", s.Keep)
	v.positive("sales.repair_after", s.RepairAfter)
	v.between(s.RepairAfter <= timeout, "sales.repair_after", backendTimeout,
		s.RepairAfter.String()+" is not longer than "+v.named(backendTimeout, timeout),
		"an order may be on its way that long: write e.g. "+(timeout+Duration(time.Second)).String())
	v.positive("orders.pay_within", o.PayWithin)
	v.within("orders.item_concurrency", o.ItemConcurrency, 1, mostConcurrency)
}
