package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/server"
)

// fakeOrders answers as it is told and notes what it was asked.
type fakeOrders struct {
	order api.Order
	cat   api.Catalogue
	err   error
	panic any

	mu    sync.Mutex
	asked []string
	left  time.Duration // of the last call's context
}

func (f *fakeOrders) note(ctx context.Context, format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
	if deadline, ok := ctx.Deadline(); ok {
		f.left = time.Until(deadline)
	}
	if f.panic != nil {
		panic(f.panic)
	}
	return f.err
}

func (f *fakeOrders) answer(err error) (api.Order, error) {
	if err != nil {
		return api.Order{}, err
	}
	return f.order, nil
}

func (f *fakeOrders) Place(ctx context.Context, t api.Ticket) (api.Order, error) {
	return f.answer(f.note(ctx, "place %+v", t))
}

func (f *fakeOrders) Refuse(ctx context.Context, t api.Ticket, code api.Code) (api.Order, error) {
	return f.answer(f.note(ctx, "refuse %+v %s", t, code))
}

func (f *fakeOrders) Find(ctx context.Context, user, bizID string) (api.Order, error) {
	return f.answer(f.note(ctx, "find %s %s", user, bizID))
}

func (f *fakeOrders) Get(ctx context.Context, user, orderID string) (api.Order, error) {
	return f.answer(f.note(ctx, "get %s %s", user, orderID))
}

func (f *fakeOrders) Pay(ctx context.Context, user, orderID string) (api.Order, error) {
	return f.answer(f.note(ctx, "pay %s %s", user, orderID))
}

func (f *fakeOrders) Cancel(ctx context.Context, user, orderID string) (api.Order, error) {
	return f.answer(f.note(ctx, "cancel %s %s", user, orderID))
}

func (f *fakeOrders) Catalogue(ctx context.Context, etag string) (api.Catalogue, error) {
	if err := f.note(ctx, "catalogue"); err != nil {
		return api.Catalogue{}, err
	}
	if etag != "" && etag == f.cat.ETag {
		return api.Catalogue{}, api.ErrNotModified
	}
	return f.cat, nil
}

// ends are the two ways to reach a service: by a call, and over HTTP. The
// contract is that nobody can tell which.
func ends(t *testing.T, f *fakeOrders) map[string]api.Orders {
	t.Helper()
	keys := api.RandomKeys()
	backend := httptest.NewServer(server.Handler(server.HandlerOptions{Orders: f, Keys: keys}))
	t.Cleanup(backend.Close)
	client, err := api.NewClient(api.ClientOptions{Servers: []string{backend.Listener.Addr().String()}, Keys: keys, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return map[string]api.Orders{"direct": f, "over HTTP": client}
}

func freshTicket(path api.Path) api.Ticket {
	return api.Ticket{
		Item: "1001", User: "u-7&x=<1>", BizID: `biz"1`, Qty: 2, Epoch: 1_800_000_000_123,
		Path: path, Exp: time.Now().Add(time.Hour).UnixMilli(),
	}
}

func placed(t api.Ticket) api.Order {
	return api.Order{
		OrderID: "7220000000000000001", BizID: t.BizID, Item: t.Item, User: t.User, Qty: t.Qty,
		AmountCents: 1980, State: api.StateCreated, CreatedAt: 1_800_000_000_000, PayBy: 1_800_000_900_000,
	}
}

// call is one of the contract's calls that ends in an order.
type call struct {
	name   string
	writes bool
	order  api.Order
	asked  string
	do     func(o api.Orders) (api.Order, error)
}

func calls(t *testing.T) []call {
	ticket, refusal := freshTicket(api.PathQueue), freshTicket(api.PathRefuse)
	order, ctx := placed(ticket), t.Context()
	refused := api.Order{BizID: ticket.BizID, Item: "1001", User: ticket.User, Qty: 2, State: api.StateRefused, Code: api.Duplicate}
	return []call{
		{"place", true, order, fmt.Sprintf("place %+v", ticket),
			func(o api.Orders) (api.Order, error) { return o.Place(ctx, ticket) }},
		{"refuse", true, order, fmt.Sprintf("refuse %+v ended", refusal),
			func(o api.Orders) (api.Order, error) { return o.Refuse(ctx, refusal, api.Ended) }},
		{"find", false, order, "find " + ticket.User + " " + ticket.BizID,
			func(o api.Orders) (api.Order, error) { return o.Find(ctx, ticket.User, ticket.BizID) }},
		{"find a refusal", false, refused, "find " + ticket.User + " " + ticket.BizID,
			func(o api.Orders) (api.Order, error) { return o.Find(ctx, ticket.User, ticket.BizID) }},
		{"get", false, order, "get " + ticket.User + " " + order.OrderID,
			func(o api.Orders) (api.Order, error) { return o.Get(ctx, ticket.User, order.OrderID) }},
		{"pay", true, order, "pay " + ticket.User + " " + order.OrderID,
			func(o api.Orders) (api.Order, error) { return o.Pay(ctx, ticket.User, order.OrderID) }},
		{"cancel", true, order, "cancel " + ticket.User + " " + order.OrderID,
			func(o api.Orders) (api.Order, error) { return o.Cancel(ctx, ticket.User, order.OrderID) }},
	}
}
