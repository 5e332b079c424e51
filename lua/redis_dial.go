package lua

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// DialOptions say how a Redis is reached. Only Addrs must be set.
type DialOptions struct {
	Addrs    []string // host:port of the primary: one
	Username string   // empty: the server's default user; what it must be allowed is in [ACL]
	Password string   // empty: none is sent
	// TLS is nil for plain text. An empty ServerName means the host of the address.
	TLS *tls.Config

	// Timeouts bound one call where its context has no sooner deadline. 0 or
	// less means the default.
	Timeouts Timeouts
	// Conns is the most connections that are open at once; 0 or less means 32.
	// A batch holds one for a round trip.
	Conns int
}

// Timeouts are the bounds of the steps of one call.
type Timeouts struct {
	Dial  time.Duration // 1 s
	Read  time.Duration // 1 s
	Write time.Duration // 1 s
	Pool  time.Duration // the wait for a connection that is free, 500 ms
}

// defaultConns serves two to four batches in flight for each of a few items that
// sell at the same time.
const defaultConns = 32

// Dial returns a client that is fit for [RedisOptions]: it sends nothing a second
// time, observes the deadline of a context, and waits for nothing without a bound.
// It connects when it is used, so a Redis that is down is seen by the first call.
// The caller closes it.
//
// To the errors of a connection that can't work as it is configured (another
// protocol, a certificate that isn't trusted, a wrong password, a user who may not
// do what a script does) it adds what to do about it; the error that it was stays in
// the chain. Pipelines and subscriptions tell errors as they are.
//
// What the client library would log goes where [LogTo] says: nowhere, unless it was
// called.
func Dial(o DialOptions) (redis.UniversalClient, error) {
	if len(o.Addrs) != 1 {
		return nil, fmt.Errorf("redis: %d addresses; name the one of the primary", len(o.Addrs))
	}
	if o.Conns <= 0 {
		o.Conns = defaultConns
	}
	takeOverLog()
	dialTimeout := orDefault(o.Timeouts.Dial, time.Second)
	client := redis.NewClient(&redis.Options{
		Addr:     o.Addrs[0],
		Username: o.Username,
		Password: o.Password,
		Dialer:   dialer{dialTimeout, o.TLS}.dial,

		MaxRetries:            -1, // a script whose reply was lost would run again
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		DialTimeout:           dialTimeout,
		ReadTimeout:           orDefault(o.Timeouts.Read, time.Second),
		WriteTimeout:          orDefault(o.Timeouts.Write, time.Second),
		PoolTimeout:           orDefault(o.Timeouts.Pool, 500*time.Millisecond),
		PoolSize:              o.Conns,
		MaxActiveConns:        o.Conns,
		PipelinePoolSize:      -1, // no pipelines here, and no connections beyond Conns

		// Both cost a round trip for each new connection, in the middle of a rush.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	client.AddHook(&adviser{secure: o.TLS != nil})
	return client, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}
