package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"rushgate/backend/api"
)

// door is a client of one gateway, wherever that runs.
type door struct {
	t      testing.TB
	client *fasthttp.HostClient
}

func doorOf(t testing.TB, addr string) *door {
	t.Helper()
	d := &door{t: t, client: &fasthttp.HostClient{
		Addr: addr, MaxConns: 4096, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		MaxIdemponentCallAttempts: 1, MaxConnWaitTimeout: 30 * time.Second,
		Dial: func(addr string) (net.Conn, error) { return net.DialTimeout("tcp", addr, 10*time.Second) },
	}}
	t.Cleanup(d.client.CloseIdleConnections)
	return d
}

// answer is what a client got.
type answer struct {
	status     int
	Code       string `json:"code"`
	Scope      string `json:"scope"`
	StartsAt   int64  `json:"starts_at"`
	Now        int64  `json:"now"`
	Source     string `json:"source"`
	RetryAfter int64  `json:"retry_after_ms"`
	api.Order
	body string
}

// state is what an item is listed as.
func (a answer) state() string {
	var item struct{ State string }
	_ = json.Unmarshal([]byte(a.body), &item)
	return item.State
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// click is one request to buy.
type click struct {
	item, user, key string
	repeat          bool
	body            string
}

func (d *door) buy(c click) answer {
	header := map[string]string{"X-User-Id": c.user, "Idempotency-Key": c.key}
	if c.repeat {
		header["Rushgate-Retry"] = "1"
	}
	return d.send("POST", "/seckill/"+c.item, header, c.body)
}

func (d *door) get(path, user string) answer {
	return d.send("GET", path, map[string]string{"X-User-Id": user}, "")
}

func (d *door) post(path, user string) answer {
	return d.send("POST", path, map[string]string{"X-User-Id": user}, "")
}

// send makes a request. No answer at all fails the test: every client is
// answered.
func (d *door) send(method, path string, header map[string]string, body string) answer {
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
	if err := d.client.Do(req, resp); err != nil {
		d.t.Errorf("%s %s: no answer: %v", method, path, err)
		return answer{}
	}
	a := answer{status: resp.StatusCode(), body: string(resp.Body())}
	if err := json.Unmarshal(resp.Body(), &a); err != nil {
		d.t.Errorf("%s %s: body %q: %v", method, path, resp.Body(), err)
	}
	// Both a problem and a recorded refusal have a code.
	if a.Code == "" {
		a.Code = string(a.Order.Code)
	}
	return a
}

// crowd sends clicks from so many clients at a time and returns the answers in
// the order of the clicks.
func (d *door) crowd(clients int, clicks []click) []answer {
	answers := make([]answer, len(clicks))
	next := make(chan int)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := range next {
				answers[i] = d.buy(clicks[i])
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

// patience bounds every wait of a test; none asserts how long something took.
const patience = 2 * time.Minute

func (d *door) eventually(what string, holds func() bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			d.t.Fatalf("never came true: %s", what)
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
