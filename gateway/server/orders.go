package server

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"rushgate/backend/api"
	"rushgate/gateway/admit"
	"rushgate/gateway/proxy"
)

// buy hands the purchase to the gate, with strings of its own.
func buy(x *exchange) bool {
	x.acting = true
	o, err := x.s.gate.Buy(x.s.base, admit.Request{
		Item: x.sale.Item, User: string(x.user), BizID: string(x.bizID), Qty: x.qty, Repeat: x.repeat, Terms: &x.policy.terms,
	})
	if err != nil {
		return x.failed(err)
	}
	x.ctx.Response.Header.Set("Location", x.s.opt.Prefix+"/orders/"+o.OrderID)
	return x.order(fasthttp.StatusCreated, &o)
}

func (x *exchange) order(status int, o *api.Order) bool {
	body, err := json.Marshal(o)
	if err != nil {
		return x.failed(err)
	}
	return x.json(status, body)
}

// failed turns every error that a purchase or an order can end in into its
// answer. A doubt outweighs whatever else is known, and an error that this does
// not know is one: it may have been done.
func (x *exchange) failed(err error) bool {
	x.err = err
	var refused *api.Refusal
	var busy *admit.Overloaded
	switch {
	case errors.Is(err, api.ErrUnknown):
	case errors.As(err, &refused):
		return x.refuse(x.refusedBy(refused))
	case errors.As(err, &busy):
		return x.refuse(&refusal{code: "overloaded", wait: busy.RetryAfter})
	case errors.Is(err, admit.ErrInProgress):
		return x.refuse(&refusal{code: "in_progress", wait: time.Second})
	case errors.Is(err, admit.ErrNoSuchItem):
		return x.no("no_such_item")
	case errors.Is(err, api.ErrMismatch):
		return x.no("idempotency_mismatch")
	case errors.Is(err, api.ErrNotFound):
		return x.no("no_such_order")
	case errors.Is(err, api.ErrFailed):
		return x.refuse(&refusal{code: "overloaded", wait: time.Second})
	}
	return x.refuse(x.unknown())
}

// unknown says that what was asked for may have been done, and how to find out.
func (x *exchange) unknown() *refusal {
	switch x.route {
	case &x.s.routes.change:
		return &refusal{code: "unknown_outcome", wait: time.Second, detail: "The order may have been changed; GET it to see where it stands."}
	case &x.s.routes.proxied:
		return &refusal{code: "unknown_outcome", detail: "The service did not answer in time; what was asked for may have been done."}
	}
	return &refusal{code: "unknown_outcome", wait: time.Second}
}

// refusedBy tells a refusal of the backend or the filter. A code that this
// version does not know says nothing about what was done.
func (x *exchange) refusedBy(r *api.Refusal) *refusal {
	if _, ok := problems[string(r.Code)]; !ok {
		return x.unknown()
	}
	out := &refusal{code: string(r.Code), state: string(r.State)}
	switch {
	case r.Code == api.NotStarted && x.sale != nil:
		return tooEarly(x.sale.StartsAt, x.s.clock.Millis())
	case r.Code == api.NotStarted, r.Code == api.Paused:
		out.wait = time.Second
	}
	return out
}

// findOrder answers GET /orders?biz_id=.
func findOrder(x *exchange) bool {
	query, err := url.ParseQuery(string(x.head.Query()))
	if err != nil || len(query["biz_id"]) != 1 || query.Get("biz_id") == "" {
		return x.bad("Ask with ?biz_id= and the Idempotency-Key of the purchase.")
	}
	ctx, cancel := x.deadline()
	defer cancel()
	return x.look(x.s.orders.Find(ctx, string(x.user), query.Get("biz_id")))
}

// getOrder answers GET /orders/{id}.
func getOrder(x *exchange) bool {
	ctx, cancel := x.deadline()
	defer cancel()
	return x.look(x.s.orders.Get(ctx, string(x.user), string(x.arg)))
}

// look answers a question about an order. That the backend could not be asked
// says nothing about the order.
func (x *exchange) look(o api.Order, err error) bool {
	switch {
	case err == nil:
		return x.order(fasthttp.StatusOK, &o)
	case errors.Is(err, api.ErrNotFound):
		return x.no("no_such_order")
	}
	x.err = err
	x.s.catalogue.Report(err)
	return x.refuse(&refusal{code: "overloaded", wait: time.Second})
}

// changeOrder answers POST /orders/{id}/pay and /cancel.
func changeOrder(x *exchange) bool {
	change := x.s.orders.Pay
	if strings.HasSuffix(string(x.head.Path()), "/cancel") {
		change = x.s.orders.Cancel
	}
	ctx, cancel := x.deadline()
	defer cancel()
	x.acting = true
	o, err := change(ctx, string(x.user), string(x.arg))
	x.s.catalogue.Report(err)
	if err != nil {
		return x.failed(err)
	}
	return x.order(fasthttp.StatusOK, &o)
}

// forward proxies to the upstream that the route table names.
func forward(x *exchange) bool {
	id, err := uuid.NewV7()
	if err != nil {
		return x.failed(err)
	}
	own := proxy.Own{
		User: string(x.user), ClientIP: x.client.String(), Scheme: "http",
		RequestID: id.String(), TraceParent: string(x.traceparent[:]),
	}
	x.acting = true
	err = x.policy.upstreams.Forward(x.ctx, &x.head, x.upstream, own)
	var fault *proxy.Fault
	switch x.err = err; {
	case err == nil:
		return true
	case errors.As(err, &fault):
		return x.fault(fault)
	case errors.Is(err, proxy.ErrBusy):
		return x.refuse(&refusal{code: "overloaded", wait: time.Second})
	case errors.Is(err, proxy.ErrTimeout):
		return x.refuse(x.unknown())
	}
	return x.no("upstream_failed")
}
