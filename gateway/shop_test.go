package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/config"
	"rushgate/lua"
)

// shop is a running gateway on the zero-setup defaults, with data of its own,
// and a client of it.
type shop struct {
	*app
	t      testing.TB
	client *fasthttp.HostClient
	config *config.Config
}

// shopOptions change what a shop starts with.
type shopOptions struct {
	flags map[string]string // over the defaults, by configuration path
	wrap  func(lua.Filter) lua.Filter
	demo  bool
}

// generous lifts the user limit, which a test with few users would meet first.
var generous = map[string]string{"limits.user.qps": "1000000", "limits.user.burst": "1000000"}

// wideOpen lifts every limit.
var wideOpen = map[string]string{
	"limits.user.qps": "1000000", "limits.user.burst": "1000000",
	"limits.item.qps": "1000000", "limits.item.burst": "1000000",
	"limits.global.qps": "1000000", "limits.global.burst": "1000000",
	"limits.refuse.qps": "1000000", "limits.refuse.burst": "1000000",
	"breaker.db_path.qps": "1000000", "breaker.db_path.concurrency": "1000",
}

func openShop(t testing.TB, o shopOptions) *shop {
	t.Helper()
	flags := map[string]string{"listen": "127.0.0.1:0", "admin.listen": "127.0.0.1:0", "data": t.TempDir()}
	maps.Copy(flags, o.flags)
	l, err := config.Load(config.Options{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	a, err := start(t.Context(), l, startOptions{log: slog.New(slog.DiscardHandler), demo: o.demo, wrap: o.wrap})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{app: a, t: t, config: &l.Config, client: &fasthttp.HostClient{
		Addr: a.public.Addr().String(), MaxConns: 4096, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		MaxIdemponentCallAttempts: 1, MaxConnWaitTimeout: 30 * time.Second,
		Dial: func(addr string) (net.Conn, error) { return net.DialTimeout("tcp", addr, 10*time.Second) },
	}}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := a.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return s
}

func (s *shop) database() string { return filepath.Join(s.config.Data, "rushgate.db") }

// saleOf is an open sale, one a user, from a minute ago for an hour.
func saleOf(item string, units int64) order.Sale {
	now := time.Now()
	return order.Sale{
		Item: item, Title: "Item " + item, PriceCents: 100, Num: units, PerUser: 1, Mode: "sync",
		StartsAt: now.Add(-time.Minute).UnixMilli(), EndsAt: now.Add(time.Hour).UnixMilli(),
	}
}

// sell puts sales on offer and waits until the gateway knows them and, where
// that is due, the filter has been seeded.
func (s *shop) sell(sales ...order.Sale) {
	s.t.Helper()
	for _, v := range sales {
		if err := s.backend.Store.Create(s.t.Context(), v); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.backend.Seeder.Sweep(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	for _, v := range sales {
		s.eventually("the gateway knows "+v.Item, func() bool { return s.get("/items/"+v.Item, "").status == 200 })
	}
}

// answer is what a client got.
type answer struct {
	status     int
	Code       string `json:"code"`
	Scope      string `json:"scope"`
	StartsAt   int64  `json:"starts_at"`
	Now        int64  `json:"now"`
	RetryAfter int64  `json:"retry_after_ms"`
	api.Order
	body string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// click is one request to buy.
type click struct {
	item, user, key string
	repeat          bool
	body            string
}

func (s *shop) buy(c click) answer {
	header := map[string]string{"X-User-Id": c.user, "Idempotency-Key": c.key}
	if c.repeat {
		header["Rushgate-Retry"] = "1"
	}
	return s.send("POST", "/seckill/"+c.item, header, c.body)
}

func (s *shop) get(path, user string) answer {
	return s.send("GET", path, map[string]string{"X-User-Id": user}, "")
}

func (s *shop) post(path, user string) answer {
	return s.send("POST", path, map[string]string{"X-User-Id": user}, "")
}

// send makes a request. No answer at all fails the test: every client is
// answered.
func (s *shop) send(method, path string, header map[string]string, body string) answer {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.Header.SetMethod(method)
	req.SetRequestURI("http://shop.test" + path)
	for name, value := range header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.SetBodyString(body)
	if err := s.client.Do(req, resp); err != nil {
		s.t.Errorf("%s %s: no answer: %v", method, path, err)
		return answer{}
	}
	a := answer{status: resp.StatusCode(), body: string(resp.Body())}
	if err := json.Unmarshal(resp.Body(), &a); err != nil {
		s.t.Errorf("%s %s: body %q: %v", method, path, resp.Body(), err)
	}
	// Both a problem and a recorded refusal have a code.
	if a.Code == "" {
		a.Code = string(a.Order.Code)
	}
	return a
}

// crowd sends clicks from so many clients at a time and returns the answers in
// the order of the clicks.
func (s *shop) crowd(clients int, clicks []click) []answer {
	answers := make([]answer, len(clicks))
	next := make(chan int)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := range next {
				answers[i] = s.buy(clicks[i])
			}
		})
	}
	for i := range clicks {
		next <- i
	}
	close(next)
	wg.Wait()
	return answers
}

// left is how many units SQL says are left.
func (s *shop) left(item string) int64 {
	s.t.Helper()
	v, err := s.backend.Store.Sale(s.t.Context(), item)
	if err != nil {
		s.t.Fatal(err)
	}
	return v.Num
}

// audit returns the findings on all invariants that SQL shows and, with the
// filter, on I6.
func (s *shop) audit(filter lua.Filter) []reseed.Finding {
	s.t.Helper()
	r, err := reseed.Audit(s.t.Context(), s.backend.Store, filter, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Findings
}

// settled fails the test unless the books are clean now and the filter agrees
// with them once the sale is quiet.
func (s *shop) settled() {
	s.t.Helper()
	for _, f := range s.audit(nil) {
		s.t.Errorf("audit: %s %s of %s: %s", f.Rule, f.Class, f.Item, f.Detail)
	}
	s.eventually("the filter agrees with SQL", func() bool { return len(s.audit(s.filter)) == 0 })
}

// patience bounds every wait of a test; none asserts how long something took.
const patience = 60 * time.Second

func (s *shop) eventually(what string, holds func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("never came true: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// orderIDs are the distinct orders among answers that sold.
func orderIDs(answers []answer) map[string]answer {
	ids := make(map[string]answer)
	for _, a := range answers {
		if a.status == 201 {
			ids[a.OrderID] = a
		}
	}
	return ids
}

// activeOrders is what SQL says is held of an item, in all and by user.
func (s *shop) activeOrders(item string) (units int64, perUser map[string]int64) {
	s.t.Helper()
	b, err := s.backend.Store.Books(s.t.Context(), item)
	if err != nil {
		s.t.Fatal(err)
	}
	return b.ActiveUnits, b.Buyers
}
