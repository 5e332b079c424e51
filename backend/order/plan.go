package order

import (
	"errors"

	"rushgate/backend/api"
)

// Answer is what one purchase is told: an order, or an error of package api.
type Answer struct {
	Order api.Order
	Err   error
	Again bool // the outcome was there before
}

// ErrNoSale: the item is not on sale here. Definitely not done.
var ErrNoSale = wrapFailed("no such sale")

func wrapFailed(msg string) error { return &failed{msg} }

type failed struct{ msg string }

func (f *failed) Error() string { return f.msg }
func (*failed) Unwrap() error   { return api.ErrFailed }

// book is the state that a plan advances as it decides one purchase after the
// other, so that a group is decided as if its purchases had come singly.
type book struct {
	sale     Sale
	outcomes map[Key]api.Order
	bought   map[string]int64
	write    Write
	payBy    int64 // Unix milliseconds, for every order of the group
}

// plan decides a group of purchases of one item from what SQL says. It is pure:
// it changes the maps it is given and nothing else. ids numbers new rows.
func plan(sale Sale, outcomes map[Key]api.Order, bought map[string]int64, group []Purchase, payWithin int64, id func() (int64, error)) ([]Answer, Write, error) {
	b := &book{sale: sale, outcomes: outcomes, bought: bought, write: Write{Sale: sale}, payBy: sale.Now + payWithin}
	answers := make([]Answer, len(group))
	for i := range group {
		p := &group[i]
		if o, ok := b.outcomes[p.Key]; ok {
			answers[i] = told(o, p)
			continue
		}
		code, err := b.decide(p)
		if err != nil {
			answers[i] = Answer{Err: err}
			continue
		}
		n, err := id()
		if err != nil {
			return nil, Write{}, err
		}
		left := b.sale.Num
		answers[i] = told(b.record(p, code, n), p)
		answers[i].Again = false
		if code == api.SoldOut && p.Path != api.PathRefuse {
			answers[i].Err = &api.Refusal{Code: code, Left: &left}
		}
	}
	return answers, b.write, nil
}

// decide returns the refusal to record ("" to place the order), or an error
// that leaves no trace.
func (b *book) decide(p *Purchase) (api.Code, error) {
	s := &b.sale
	switch {
	case s.Now >= p.Exp:
		return "", api.ErrTicketExpired
	case p.Path == api.PathRefuse:
		return p.Code, nil
	case p.Path == api.PathRedis && p.Epoch != s.Epoch:
		return "", &api.Stale{Epoch: s.Epoch, ReseedUntil: s.ReseedUntil}
	case p.Path == api.PathDB && s.Now < s.StartsAt:
		return "", &api.Refusal{Code: api.NotStarted}
	case p.Path == api.PathDB && s.Now >= s.EndsAt:
		return api.Ended, nil
	case p.Path == api.PathDB && s.Paused:
		return "", &api.Refusal{Code: api.Paused}
	case p.Qty > s.PerUser-b.bought[p.Key.User]: // a sum could overflow, and would then pass
		return api.Duplicate, nil
	case p.Qty > s.Num:
		return api.SoldOut, nil
	}
	return "", nil
}

// record books an outcome under the number n and returns it.
func (b *book) record(p *Purchase, code api.Code, n int64) api.Order {
	o := api.Order{
		BizID: p.Key.BizID, Item: p.Item, User: p.Key.User, Qty: int(p.Qty),
		State: api.StateRefused, Code: code, CreatedAt: b.sale.Now,
	}
	if code == "" {
		o.State = api.StateCreated
		o.OrderID = FormatNumber(n)
		o.AmountCents = b.sale.PriceCents * p.Qty
		o.PayBy = b.payBy
		b.sale.Num -= p.Qty
		b.bought[p.Key.User] += p.Qty
		b.write.Units += p.Qty
		b.write.Pinned = b.write.Pinned || p.Path == api.PathRedis
		b.write.DBPath = b.write.DBPath || p.Path == api.PathDB
	}
	b.outcomes[p.Key] = o
	b.write.Rows = append(b.write.Rows, Row{ID: n, Order: o, Path: p.Path, Epoch: b.sale.Epoch})
	return o
}

// told turns an outcome into the answer to a purchase with its key.
func told(o api.Order, p *Purchase) Answer {
	switch {
	case o.Item != p.Item || int64(o.Qty) != p.Qty:
		return Answer{Err: api.ErrMismatch, Again: true}
	case o.State == api.StateRefused:
		return Answer{Err: &api.Refusal{Code: o.Code}, Again: true}
	}
	return Answer{Order: o, Again: true}
}

// Result names an answer for metrics.
func (a Answer) Result() string {
	var refusal *api.Refusal
	var stale *api.Stale
	switch {
	case a.Err == nil:
		return string(a.Order.State)
	case errors.As(a.Err, &refusal):
		return string(refusal.Code)
	case errors.As(a.Err, &stale):
		return "stale"
	case errors.Is(a.Err, api.ErrMismatch):
		return "mismatch"
	case errors.Is(a.Err, api.ErrFailed):
		return "failed"
	}
	return "unknown"
}
