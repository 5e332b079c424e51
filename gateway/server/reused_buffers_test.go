package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"rushgate/config"
)

// The memory of a request is used again by the next one of its connection, and what
// went on from it, to the filter, the backend and the limits, must not change.
func TestNextRequestRewritesTheLast(t *testing.T) {
	g := open(t, func(c *config.Config) {
		generous(c)
		c.Breaker.SlowCall = config.Duration(patience)
	})
	var wg sync.WaitGroup
	const clients, each = 8, 50
	for n := range clients {
		c := g.dial("")
		wg.Go(func() {
			defer c.Close()
			for i := range each {
				r := purchase(strings.Repeat(fmt.Sprintf("%d.%d.", n, i), 4))
				a := c.ask("POST", r.text())
				if a.status == 201 && !strings.Contains(a.body, `"user":"`+r.user+`"`) {
					t.Errorf("%s was told of another's order: %s", r.user, a.body)
				}
			}
		})
	}
	wg.Wait()
	g.orders.mu.Lock()
	defer g.orders.mu.Unlock()
	seen := map[string]bool{}
	for _, k := range g.orders.tickets {
		if k.User != k.BizID || seen[k.User] || k.Item != "1001" || strings.Count(k.User, ".") != 8 {
			t.Errorf("a ticket for user %q with key %q", k.User, k.BizID)
		}
		seen[k.User] = true
	}
	v, err := g.filter.View(t.Context(), "1001", true)
	if err != nil || v.Stock != 0 {
		t.Fatal(v, err)
	}
	for user := range v.Buyers {
		if !seen[user] {
			t.Errorf("the filter knows a buyer %q, who was never handed on", user)
		}
	}
}

// What one answer needs, such as fields in their own spelling, is gone with the
// next one.
func TestLastAnswerLeaksIntoTheNext(t *testing.T) {
	g := open(t, func(c *config.Config) { c.Limits.User = rare })
	c := g.dial("")
	defer c.Close()
	first := purchase("u")
	if a := c.ask("POST", first.text()); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := c.ask("POST", first.text()); a.status != 429 || a.header.Get("Location") != "" {
		t.Fatalf("%d %s", a.status, a.head)
	}
	a := c.ask("GET", "GET /time HTTP/1.1\r\nHost: a\r\n\r\n")
	if a.status != 200 || strings.Contains(a.head, "RateLimit") || strings.Contains(a.head, "Retry-After") {
		t.Errorf("after a 429:\n%s", a.head)
	}
	a = c.ask("GET", "GET /nope HTTP/1.1\r\nHost: a\r\n\r\n")
	if a.status != 404 || strings.Contains(a.head, "Access-Control") || a.member.RetryAfterMS != nil || a.member.Scope != "" {
		t.Errorf("%s\n%s", a.head, a.body)
	}
}

// fasthttp writes an answer after the handler has returned, when the next request
// has the memory of its exchange already.
func TestNextRefusalRewritesTheLast(t *testing.T) {
	g := build(t, nil)
	first, next := parsed(t, get("/nope")), parsed(t, purchase("u"))
	for range 100 {
		g.handle(first)
		body := string(first.Response.Body())
		g.handle(next)
		if got := string(first.Response.Body()); got != body {
			t.Fatalf("%s became %s", body, got)
		}
	}
}

// A refusal takes back what was written of another answer.
func TestRefusalKeepsHalfAnAnswer(t *testing.T) {
	g := build(t, nil)
	ctx := parsed(t, get("/nope"))
	ctx.Response.Header.Set("Location", "/orders/1")
	ctx.Response.SetBodyString("half")
	g.handle(ctx)
	if l, b := ctx.Response.Header.Peek("Location"), string(ctx.Response.Body()); len(l) != 0 || strings.Contains(b, "half") || ctx.Response.StatusCode() != 404 {
		t.Errorf("%d, Location %q, %s", ctx.Response.StatusCode(), l, b)
	}
}
