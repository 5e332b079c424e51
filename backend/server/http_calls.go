package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"rushgate/backend/api"
)

func (h *handler) place(ctx context.Context, r *http.Request) (reply, error) {
	t, err := h.ticket(r)
	if err != nil {
		return reply{}, err
	}
	if t.Path == api.PathRefuse {
		return reply{}, badRequest("a ticket of path refuse becomes no order: send it to " + api.PathRefusals)
	}
	var body api.OrderBody
	if err := readBody(r, &body); err != nil {
		return reply{}, err
	}
	if body.Qty != t.Qty {
		return reply{}, badRequest("qty is not the ticket's")
	}
	ctx, cancel := h.withTicket(ctx, t)
	defer cancel()
	o, err := h.opt.Orders.Place(ctx, t)
	return orderReply(http.StatusCreated, o), err
}

func (h *handler) refuse(ctx context.Context, r *http.Request) (reply, error) {
	t, err := h.ticket(r)
	if err != nil {
		return reply{}, err
	}
	var body api.RefuseBody
	if err := readBody(r, &body); err != nil {
		return reply{}, err
	}
	switch {
	case t.Path != api.PathRefuse:
		return reply{}, badRequest("the ticket's path is not refuse")
	case body.Qty != t.Qty:
		return reply{}, badRequest("qty is not the ticket's")
	case !body.Code.Final():
		return reply{}, badRequest("the code is not a final one")
	}
	ctx, cancel := h.withTicket(ctx, t)
	defer cancel()
	o, err := h.opt.Orders.Refuse(ctx, t, body.Code)
	return orderReply(http.StatusCreated, o), err
}

func (h *handler) find(ctx context.Context, r *http.Request) (reply, error) {
	user, err := queryID(r, "user")
	if err != nil {
		return reply{}, err
	}
	bizID, err := queryID(r, "biz_id")
	if err != nil {
		return reply{}, err
	}
	o, err := h.opt.Orders.Find(ctx, user, bizID)
	return orderReply(http.StatusOK, o), err
}

func (h *handler) get(ctx context.Context, r *http.Request) (reply, error) {
	user, err := queryID(r, "user")
	if err != nil {
		return reply{}, err
	}
	id := r.PathValue("id")
	if !api.ValidOrderID(id) {
		return reply{}, api.ErrNotFound
	}
	o, err := h.opt.Orders.Get(ctx, user, id)
	return orderReply(http.StatusOK, o), err
}

func (h *handler) pay(ctx context.Context, r *http.Request) (reply, error) {
	return move(ctx, r, h.opt.Orders.Pay)
}

func (h *handler) cancel(ctx context.Context, r *http.Request) (reply, error) {
	return move(ctx, r, h.opt.Orders.Cancel)
}

func move(ctx context.Context, r *http.Request, to func(ctx context.Context, user, orderID string) (api.Order, error)) (reply, error) {
	var body api.UserBody
	if err := readBody(r, &body); err != nil {
		return reply{}, err
	}
	if !api.ValidID(body.User) {
		return reply{}, badRequest("user: want 1 to 128 visible ASCII characters")
	}
	id := r.PathValue("id")
	if !api.ValidOrderID(id) {
		return reply{}, api.ErrNotFound
	}
	o, err := to(ctx, body.User, id)
	return orderReply(http.StatusOK, o), err
}

func (h *handler) catalogue(ctx context.Context, r *http.Request) (reply, error) {
	etag := unquoteETag(r.Header.Get("If-None-Match"))
	cat, err := h.opt.Orders.Catalogue(ctx, etag)
	switch {
	case err == nil:
		return catalogueReply(cat), nil
	case errors.Is(err, api.ErrNotModified) && etag != "":
		return reply{status: http.StatusNotModified, etag: quoteETag(etag)}, nil
	}
	return reply{}, err
}

// ticket returns the request's one ticket.
func (h *handler) ticket(r *http.Request) (api.Ticket, error) {
	values := r.Header.Values(api.HeaderTicket)
	if len(values) != 1 {
		return api.Ticket{}, fmt.Errorf("%w: %d %s headers, want one", api.ErrTicketInvalid, len(values), api.HeaderTicket)
	}
	return h.opt.Keys.Verify(values[0], h.opt.Now())
}

// withTicket ends ctx when the ticket expires, which is when its gateway stops
// waiting.
func (h *handler) withTicket(ctx context.Context, t api.Ticket) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.UnixMilli(t.Exp).Sub(h.opt.Now()))
}

func badRequest(why string) error { return fmt.Errorf("%w: %s", api.ErrBadRequest, why) }

func readBody(r *http.Request, v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest("body: " + err.Error())
	}
	if err := api.DecodeStrict(data, v); err != nil {
		return badRequest("body: " + err.Error())
	}
	return nil
}

// queryID returns a parameter that is there once.
func queryID(r *http.Request, name string) (string, error) {
	values := r.URL.Query()[name]
	if len(values) != 1 || !api.ValidID(values[0]) {
		return "", badRequest(name + ": want one, of 1 to 128 visible ASCII characters")
	}
	return values[0], nil
}
