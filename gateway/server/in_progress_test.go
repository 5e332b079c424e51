package server

import (
	"context"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/config"
)

// The wait for the first request with a key ends with the wait of the second.
func TestInProgress(t *testing.T) {
	g := open(t, func(c *config.Config) {
		u := c.Upstreams["backend"]
		u.Timeout = config.Duration(100 * time.Millisecond)
		c.Upstreams["backend"] = u
	})
	placing, settled := make(chan struct{}), make(chan struct{})
	g.orders.place = func(context.Context, api.Ticket) (api.Order, error) {
		close(placing)
		<-settled
		return api.Order{}, &api.Refusal{Code: api.Duplicate}
	}
	first := make(chan answer)
	go func() { first <- g.send(purchase("u")) }()
	<-placing
	a := g.send(purchase("u"))
	if a.status != 409 || a.member.Code != "in_progress" {
		t.Errorf("the second: %d %s", a.status, a.body)
	}
	isProblem(t, a)
	close(settled)
	if a := <-first; a.member.Code != "duplicate" {
		t.Errorf("the first: %d %s", a.status, a.body)
	}
}
