package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

// Place implements api.Orders.
func (b *Backend) Place(ctx context.Context, t api.Ticket) (api.Order, error) {
	if t.Path == api.PathRefuse {
		return api.Order{}, fmt.Errorf("a ticket of path refuse places nothing: %w", api.ErrFailed)
	}
	return b.placer.Place(ctx, purchase(&t, ""))
}

// Refuse implements api.Orders.
func (b *Backend) Refuse(ctx context.Context, t api.Ticket, code api.Code) (api.Order, error) {
	if t.Path != api.PathRefuse || !code.Final() {
		return api.Order{}, fmt.Errorf("refusing takes a ticket of path refuse and a final code: %w", api.ErrFailed)
	}
	return b.placer.Place(ctx, purchase(&t, code))
}

func purchase(t *api.Ticket, code api.Code) order.Purchase {
	return order.Purchase{
		Item: t.Item, Key: order.Key{User: t.User, BizID: t.BizID}, Qty: int64(t.Qty),
		Epoch: t.Epoch, Path: t.Path, Exp: t.Exp, Code: code,
	}
}

// Find implements api.Orders.
func (b *Backend) Find(ctx context.Context, user, bizID string) (api.Order, error) {
	return read(b.Store.Find(ctx, user, bizID))
}

// Get implements api.Orders.
func (b *Backend) Get(ctx context.Context, user, orderID string) (api.Order, error) {
	id, ok := order.ParseNumber(orderID)
	if !ok {
		return api.Order{}, api.ErrNotFound
	}
	return read(b.Store.Get(ctx, user, id))
}

// read says of a look that went wrong that nothing was done by it.
func read(o api.Order, err error) (api.Order, error) {
	if err != nil && !errors.Is(err, api.ErrNotFound) {
		err = fmt.Errorf("%w: %w", api.ErrFailed, err)
	}
	return o, err
}

// Pay implements api.Orders.
func (b *Backend) Pay(ctx context.Context, user, orderID string) (api.Order, error) {
	o, err := b.life.Pay(ctx, user, orderID)
	return o, changeError(err)
}

// Cancel implements api.Orders.
func (b *Backend) Cancel(ctx context.Context, user, orderID string) (api.Order, error) {
	o, err := b.life.Cancel(ctx, user, orderID)
	return o, changeError(err)
}

// changeError keeps the three ends of a change apart: an answer, a lost commit,
// and everything that was rolled back.
func changeError(err error) error {
	var refusal *api.Refusal
	switch {
	case err == nil, errors.As(err, &refusal), errors.Is(err, api.ErrNotFound):
		return err
	case errors.Is(err, order.ErrCommit):
		return fmt.Errorf("%w: %w", api.ErrUnknown, err)
	}
	return fmt.Errorf("%w: %w", api.ErrFailed, err)
}

// Catalogue implements api.Orders.
func (b *Backend) Catalogue(ctx context.Context, etag string) (api.Catalogue, error) {
	now, err := b.Store.Now(ctx)
	if err != nil {
		return api.Catalogue{}, fmt.Errorf("%w: %w", api.ErrFailed, err)
	}
	rows, err := b.Store.Sales(ctx, now-time.Duration(b.opt.Config.Sales.Keep).Milliseconds())
	if err != nil {
		return api.Catalogue{}, fmt.Errorf("%w: %w", api.ErrFailed, err)
	}
	c := api.Catalogue{Now: now, Sales: make([]api.Sale, len(rows))}
	for i := range rows {
		c.Sales[i] = listing(&rows[i])
	}
	text, err := json.Marshal(c.Sales)
	if err != nil {
		return api.Catalogue{}, err
	}
	sum := sha256.Sum256(text)
	if c.ETag = base64.RawURLEncoding.EncodeToString(sum[:12]); c.ETag == etag {
		return api.Catalogue{}, api.ErrNotModified
	}
	return c, nil
}

func listing(v *order.Sale) api.Sale {
	state := api.SaleOpen
	switch {
	case v.Paused:
		state = api.SalePaused
	case v.Num == 0:
		state = api.SaleSoldOut
	}
	return api.Sale{
		Item: v.Item, Epoch: v.Epoch, ReseedUntil: v.ReseedUntil, Title: v.Title, PriceCents: v.PriceCents,
		StartsAt: v.StartsAt, EndsAt: v.EndsAt, State: state, PerUser: int(v.PerUser), Mode: v.Mode,
	}
}
