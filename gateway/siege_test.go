package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store"
	"rushgate/lua"
)

// siege is buyers who keep coming, for as long as it lasts. Each does what the
// answers say, through whichever gateway is next, and keeps the last answer.
type siege struct {
	doors []*door
	item  string

	stop    chan struct{}
	stopped sync.Once
	running sync.WaitGroup
	mu      sync.Mutex
	endings []ending
}

// ending is how one buyer fared.
type ending struct {
	click
	last answer
}

// impatient is the share of buyers, one in so many, who stop asking as soon as
// they hear that nothing was done.
const impatient = 4

// mostTries bounds one buyer's requests: with what an answer says of when to ask
// again, far beyond any pause of a test.
const mostTries = 200

// besiege lets so many buyers at a time come, through all doors.
func besiege(item string, buyers int, doors ...*door) *siege {
	s := &siege{doors: doors, item: item, stop: make(chan struct{})}
	doors[0].t.Cleanup(func() { s.end() }) // before the gateways stop, where the test fails
	for i := range buyers {
		s.running.Go(func() {
			for n := i; ; n++ {
				select {
				case <-s.stop:
					return
				default:
				}
				s.add(s.buy(freshClicks(item, "siege", 1)[0], n))
			}
		})
	}
	return s
}

func (s *siege) add(e ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endings = append(s.endings, e)
}

// buy is one buyer's whole errand. Who is told that nothing was done, or to ask
// again, asks again, marked, perhaps at another gateway.
func (s *siege) buy(c click, door int) ending {
	hasty := rand.IntN(impatient) == 0
	for try := 1; ; try++ {
		a := s.doors[(door+try)%len(s.doors)].buy(c)
		again := slices.Contains([]string{"limited", "overloaded", "unknown_outcome", "in_progress", "draining"}, a.Code)
		if !again || try == mostTries || hasty && a.Code != "unknown_outcome" && a.Code != "in_progress" {
			return ending{c, a}
		}
		c.repeat = true
		select {
		case <-s.stop:
			if a.Code != "unknown_outcome" && a.Code != "in_progress" {
				return ending{c, a}
			}
		case <-time.After(min(time.Duration(a.RetryAfter)*time.Millisecond, 200*time.Millisecond)):
		}
	}
}

// end lets nobody new come, waits for those who are there, and returns how all of
// them fared.
func (s *siege) end() []ending {
	s.stopped.Do(func() { close(s.stop) })
	s.running.Wait()
	return s.endings
}

// told counts what buyers were told in the end; an order is "order".
func told(endings []ending) map[string]int {
	n := map[string]int{}
	for _, e := range endings {
		code := e.last.Code
		if e.last.status == http.StatusCreated {
			code = "order"
		}
		n[code]++
	}
	return n
}

// honest fails unless every buyer was told the truth: exactly the units are sold,
// each order told is there, and nobody holds one who was told that there is none.
func honest(t testing.TB, s *store.Store, item string, units int, endings []ending) {
	t.Helper()
	books, err := s.Books(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	if int(books.ActiveUnits) != units || books.Sale.Num != 0 {
		t.Errorf("item %s: %d units sold, %d left; want %d and 0", item, books.ActiveUnits, books.Sale.Num, units)
	}
	for _, f := range books.Check() {
		t.Errorf("audit: %s %s of %s: %s", f.Rule, f.Class, f.Item, f.Detail)
	}
	toldOf := map[string]string{}
	for _, e := range endings {
		checkEnding(t, s, e, books.Buyers, toldOf)
	}
	for user := range books.Buyers {
		if _, knows := toldOf[user]; !knows {
			t.Errorf("%s has an order and was never told", user)
		}
	}
	t.Logf("item %s, what %d buyers were told: %v", item, len(endings), told(endings))
}

func checkEnding(t testing.TB, s *store.Store, e ending, buyers map[string]int64, toldOf map[string]string) {
	t.Helper()
	switch {
	case e.last.status == http.StatusCreated:
		o, err := s.Find(t.Context(), e.user, e.key)
		if err != nil || o.OrderID != e.last.OrderID || !o.State.Active() {
			t.Errorf("%s was told of order %s, SQL says %+v, %v", e.user, e.last.OrderID, o, err)
		}
		toldOf[e.user] = e.last.OrderID
	case slices.Contains([]string{"sold_out", "limited", "overloaded"}, e.last.Code):
		if buyers[e.user] != 0 {
			t.Errorf("%s was told %s in the end and has an order", e.user, e.last.Code)
		}
	default:
		t.Errorf("%s was told %s in the end", e.user, e.last.String())
	}
}

// agrees waits until the filter agrees with SQL about all sales.
func (d *door) agrees(s *store.Store, filter lua.Filter) {
	d.t.Helper()
	var r reseed.Report
	var err error
	d.eventually("the filter agrees with SQL", func() bool {
		r, err = reseed.Audit(d.t.Context(), s, filter, "")
		return err == nil && len(r.Findings) == 0
	})
}

// leftOf is how many units SQL says are left.
func leftOf(t testing.TB, s *store.Store, item string) int64 {
	t.Helper()
	v, err := s.Sale(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	return v.Num
}

// putOnSale creates sales and waits until every door's gateway knows them.
func putOnSale(t testing.TB, s *store.Store, doors []*door, sales ...order.Sale) {
	t.Helper()
	for _, v := range sales {
		if err := s.Create(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		for _, d := range doors {
			d.eventually("the gateway knows "+v.Item, func() bool { return d.get("/items/"+v.Item, "").status == http.StatusOK })
		}
	}
}

// counted reads a counter or gauge from an admin listener: the sum of all series
// of that name which have all the labels, written as name="value".
func counted(t testing.TB, admin, name string, labels ...string) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sum, err := scrape(ctx, admin, name, labels)
	if err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
	return sum
}

func scrape(ctx context.Context, admin, name string, labels []string) (sum float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if base, _, _ := strings.Cut(series, "{"); base != name {
			continue
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(series, l) }) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		sum += v
	}
	return sum, lines.Err()
}

// byPath are the orders made so far on a path, as the backend behind an admin
// listener counts them.
func byPath(t testing.TB, admin string, path api.Path) float64 {
	t.Helper()
	return counted(t, admin, "rushgate_orders_total", `path="`+string(path)+`"`, `outcome="created"`, `again="false"`)
}
