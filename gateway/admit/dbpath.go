package admit

import (
	"time"

	"rushgate/gateway/limit"
)

// DBPathLimit is what the sale on SQL alone may take: one hot row serves a few
// hundred single transactions a second, and more connections make it slower.
type DBPathLimit struct {
	QPS         float64 // 0: closed
	Concurrency int
}

// dbPath lets purchases through to SQL without the filter. Safe for concurrent use.
type dbPath struct {
	rate  *limit.Bucket
	slots chan struct{}
}

// busy is how long to stay away where nothing says when there is room again.
const busy = time.Second

func newDBPath(l DBPathLimit) *dbPath {
	// A burst of a tenth of a second: a whole second's would let nearly twice
	// the rate through in the first.
	burst := max(1, int(l.QPS/10))
	return &dbPath{rate: limit.NewBucket(limit.Rate{QPS: l.QPS, Burst: burst}), slots: make(chan struct{}, l.Concurrency)}
}

// enter takes a slot, or says after how long to ask again. The slot comes
// first: a purchase that finds none spends no token.
func (d *dbPath) enter(now time.Time) (leave func(), err error) {
	select {
	case d.slots <- struct{}{}:
	default:
		return nil, &Overloaded{RetryAfter: busy}
	}
	switch word := d.rate.Allow(now); {
	case word.OK:
		return func() { <-d.slots }, nil
	case word.Closed:
		<-d.slots
		return nil, &Overloaded{RetryAfter: busy} // the filter may be back by then
	default:
		<-d.slots
		return nil, &Overloaded{RetryAfter: word.RetryAfter}
	}
}
