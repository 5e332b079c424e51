package admit

import (
	"testing"

	"rushgate/gateway/limit"
)

// Purchases under way on the DB path finish under a smaller concurrency, and
// nobody enters until there is room.
func TestDBPathShrinksUnderLoad(t *testing.T) {
	d := newDBPath(DBPathLimit{QPS: 1e6, Concurrency: 3})
	var leave []func()
	enter := func() bool {
		l, err := d.enter(noon)
		if err == nil {
			leave = append(leave, l)
		}
		return err == nil
	}
	exit := func() {
		leave[0]()
		leave = leave[1:]
	}
	steps := []struct {
		do   func()
		size int
		want bool // somebody gets in
	}{
		{func() {}, 3, true},
		{func() {}, 3, true},
		{func() {}, 3, true},
		{func() {}, 3, false},
		{func() {}, 2, false},
		{exit, 2, false}, // two of two
		{exit, 2, true},
		{func() {}, 4, true},
		{func() {}, 4, true},
		{func() {}, 4, false},
	}
	for i, s := range steps {
		s.do()
		d.set(noon, DBPathLimit{QPS: 1e6, Concurrency: s.size})
		if got := enter(); got != s.want {
			t.Fatalf("step %d: got in: %v, want %v", i+1, got, s.want)
		}
	}
}

// Neither the DB path nor the limit of refusals hands out a burst when it moves.
func TestReloadHandsOutABurst(t *testing.T) {
	x := open(t, nil, func(o *Options) {
		o.DBPath, o.Refuse = DBPathLimit{QPS: 10, Concurrency: 100}, limit.Rate{QPS: 10, Burst: 1}
	})
	rates := []Numbers{
		{Breaker: usual, DBPath: DBPathLimit{QPS: 1000, Concurrency: 100}, Refuse: limit.Rate{QPS: 1000, Burst: 100}},
		{Breaker: usual, DBPath: DBPathLimit{QPS: 10, Concurrency: 100}, Refuse: limit.Rate{QPS: 10, Burst: 1}},
	}
	db, refusals := 0, 0
	for i := range 200 {
		if leave, err := x.db.enter(noon); err == nil {
			leave()
			db++
		}
		if x.refuse.Allow(noon).OK {
			refusals++
		}
		x.Set(noon, &rates[i%2])
	}
	if db != 1 || refusals != 1 {
		t.Errorf("%d purchases and %d refusals at one moment, want the burst of 1", db, refusals)
	}
}
