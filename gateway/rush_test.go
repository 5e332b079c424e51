package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// rush is the clicks of many buyers on item 1001 and around it: each of them
// once with a key of its own, then again with that key or another one, on wrong
// items, on a sale that has not begun; and some who are blocked.
type rush struct {
	clicks []click
	kinds  []string
}

const rushUsers, rushRequests, rushBlocked = 5000, 20_000, 50

func newRush(seed uint64, requests int) *rush {
	r := &rush{}
	chance := rand.New(rand.NewPCG(seed, 0))
	add := func(kind string, c click) {
		r.clicks = append(r.clicks, c)
		r.kinds = append(r.kinds, kind)
	}
	for u := range rushUsers {
		user := fmt.Sprintf("u%d", u)
		add("first", click{item: "1001", user: user, key: user + "-a"})
	}
	for len(r.clicks) < requests {
		user := fmt.Sprintf("u%d", chance.IntN(rushUsers))
		switch chance.IntN(8) {
		case 0, 1, 2:
			add("repeat", click{item: "1001", user: user, key: user + "-a", repeat: true})
		case 3, 4:
			add("other key", click{item: "1001", user: user, key: user + "-b"})
		case 5:
			add("wrong item", click{item: "4711", user: user, key: user + "-c"})
		case 6:
			add("early", click{item: "1003", user: user, key: user + "-d"})
		case 7:
			blocked := fmt.Sprintf("blocked%d", chance.IntN(rushBlocked))
			add("blocked", click{item: "1001", user: blocked, key: strconv.Itoa(len(r.clicks))})
		}
	}
	chance.Shuffle(len(r.clicks), func(i, j int) {
		r.clicks[i], r.clicks[j] = r.clicks[j], r.clicks[i]
		r.kinds[i], r.kinds[j] = r.kinds[j], r.kinds[i]
	})
	return r
}

// rushFlags are the zero-setup defaults with the user limit raised.
func rushFlags() map[string]string {
	blocked := make([]string, rushBlocked)
	for i := range blocked {
		blocked[i] = fmt.Sprintf("blocked%d", i)
	}
	flags := map[string]string{"blacklist.users": strings.Join(blocked, ",")}
	maps.Copy(flags, generous)
	return flags
}

// rightAnswers are the codes that each kind of request may be told; "" is an
// order. limited and overloaded say "ask again", so everyone may hear them; so
// does unknown_outcome, which a first try may hear as well: another request with
// its key that comes while it is in flight joins it and makes it a repeat.
var rightAnswers = map[string][]string{
	"first":      {"", "sold_out", "duplicate", "limited", "overloaded", "unknown_outcome"},
	"repeat":     {"", "sold_out", "duplicate", "limited", "overloaded", "unknown_outcome"},
	"other key":  {"", "sold_out", "duplicate", "limited", "overloaded", "unknown_outcome"},
	"wrong item": {"no_such_item"},
	"early":      {"not_started"},
	"blocked":    {"blacklisted", "sold_out"}, // the mark is read first
}

func (r *rush) check(t testing.TB, answers []answer) {
	t.Helper()
	for i, a := range answers {
		code := a.Code
		if a.status == 201 {
			code = ""
		}
		ok := false
		for _, right := range rightAnswers[r.kinds[i]] {
			ok = ok || code == right
		}
		if !ok {
			t.Errorf("%s %+v: told %s", r.kinds[i], r.clicks[i], a.String())
		}
		if a.status == 201 && (a.User != r.clicks[i].user || a.BizID != r.clicks[i].key) {
			t.Errorf("%+v: told of another order: %s", r.clicks[i], a.String())
		}
	}
}

// insist asks again, as told, for every buyer who has an order by SQL's account
// and was left with unknown_outcome, and puts the end in place of the answer.
func (s *shop) insist(clicks []click, answers []answer) {
	s.t.Helper()
	told := map[string]bool{}
	for _, a := range orderIDs(answers) {
		told[a.User] = true
	}
	_, buyers := s.activeOrders("1001")
	for i := range answers {
		c := clicks[i]
		if c.repeat = true; answers[i].Code != "unknown_outcome" || buyers[c.user] == 0 || told[c.user] {
			continue
		}
		s.eventually("an end for "+c.key, func() bool {
			answers[i] = s.buy(c)
			return answers[i].status == 201 || answers[i].Code == "duplicate" || answers[i].Code == "sold_out"
		})
	}
}

// each201HasItsRow looks every order up that a client was told of.
func each201HasItsRow(t testing.TB, s *shop, answers []answer) {
	t.Helper()
	for id, a := range orderIDs(answers) {
		o, err := s.backend.Find(t.Context(), a.User, a.BizID)
		if err != nil || o.OrderID != id || !o.State.Active() {
			t.Errorf("order %s was told to %s, SQL says %+v, %v", id, a.User, o, err)
		}
	}
}

func TestRushSellsExactlyAHundred(t *testing.T) { rushSells(t, rushFlags()) }

// rushSells opens a shop with the demo sales and lets the rush come.
func rushSells(t *testing.T, flags map[string]string) *shop {
	t.Helper()
	s := openShop(t, shopOptions{flags: flags, demo: true})
	r := newRush(1, rushRequests)
	answers := s.crowd(128, r.clicks)
	r.check(t, answers)
	s.insist(r.clicks, answers)
	if n := len(orderIDs(answers)); n != 100 || s.left("1001") != 0 {
		t.Fatalf("%d orders told, %d units left; want 100 and 0", n, s.left("1001"))
	}
	each201HasItsRow(t, s, answers)
	// A winner who asks again is told the order, long after the last unit went.
	for id, a := range orderIDs(answers) {
		again := s.buy(click{item: "1001", user: a.User, key: a.BizID, repeat: true})
		if again.status != 201 || again.OrderID != id {
			t.Errorf("%s asks again for order %s: %s", a.User, id, again.String())
		}
	}
	s.settled()
	return s
}

// Whatever is told while epochs come and go, nobody hears of them.
func TestReseedEveryFiftyMilliseconds(t *testing.T) {
	s := openShop(t, shopOptions{flags: rushFlags(), demo: true})
	done, stopped := make(chan struct{}), make(chan int)
	go func() {
		reseeds := 0
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				stopped <- reseeds
				return
			case <-tick.C:
			}
			epoch, err := s.backend.Seeder.Reseed(t.Context(), "1001", "test")
			if err != nil {
				t.Errorf("reseed: %v", err)
			}
			if epoch != 0 {
				reseeds++
			}
		}
	}()
	r := newRush(2, rushRequests)
	answers := s.crowd(128, r.clicks)
	close(done)
	if n := <-stopped; n == 0 {
		t.Fatal("no reseed happened, so nothing was tested")
	}
	r.check(t, answers)
	s.insist(r.clicks, answers)
	// Who was told to ask again does so, until nothing is left.
	s.eventually("everything is sold", func() bool {
		answers = append(answers, s.crowd(32, freshClicks("1001", "late", 50))...)
		return s.left("1001") == 0
	})
	if n := len(orderIDs(answers)); n != 100 {
		t.Fatalf("%d orders told, want 100", n)
	}
	each201HasItsRow(t, s, answers)
	s.settled()
}

var freshUsers atomic.Int64

// freshClicks are first tries of users that nobody has seen.
func freshClicks(item, prefix string, n int) []click {
	clicks := make([]click, n)
	for i := range clicks {
		user := fmt.Sprintf("%s%d", prefix, freshUsers.Add(1))
		clicks[i] = click{item: item, user: user, key: user}
	}
	return clicks
}
