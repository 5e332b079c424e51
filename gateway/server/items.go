package server

import (
	"encoding/json"

	"github.com/valyala/fasthttp"

	"rushgate/backend/api"
)

// item is one line of GET /items. Times are Unix milliseconds.
type item struct {
	Item       string `json:"item"`
	Title      string `json:"title"`
	PriceCents int64  `json:"price_cents"`
	StartsAt   int64  `json:"starts_at"`
	EndsAt     int64  `json:"ends_at"`
	State      string `json:"state"`
	PerUser    int    `json:"per_user"`
	Mode       string `json:"mode"`
}

func (s *Server) listing(v *api.Sale, now int64) item {
	return item{
		Item: v.Item, Title: v.Title, PriceCents: v.PriceCents, StartsAt: v.StartsAt, EndsAt: v.EndsAt,
		State: s.stateOf(v, now), PerUser: v.PerUser, Mode: v.Mode,
	}
}

// stateOf is a sale's state at a moment: the window by the clock that also
// decides the opening, the rest as the backend and the sold-out mark say.
func (s *Server) stateOf(v *api.Sale, now int64) string {
	switch {
	case now >= v.EndsAt:
		return api.SaleEnded
	case v.State == api.SalePaused:
		return api.SalePaused
	case now < v.StartsAt:
		return api.SaleUpcoming
	case v.State == api.SaleSoldOut || s.gate.MarkedSoldOut(v.Item):
		return api.SaleSoldOut
	}
	return api.SaleOpen
}

func answerItems(x *exchange) bool {
	snapshot := x.s.catalogue.Snapshot()
	if snapshot == nil {
		return findSale(x)
	}
	now := x.s.clock.Millis()
	list := make([]item, len(snapshot.Sales))
	for i := range snapshot.Sales {
		list[i] = x.s.listing(&snapshot.Sales[i], now)
	}
	return x.marshal(struct {
		Now   int64  `json:"now"`
		Items []item `json:"items"`
	}{now, list})
}

func answerItem(x *exchange) bool {
	now := x.s.clock.Millis()
	return x.marshal(struct {
		Now int64 `json:"now"`
		item
	}{now, x.s.listing(x.sale, now)})
}

func (x *exchange) marshal(v any) bool {
	body, err := json.Marshal(v)
	if err != nil {
		return x.failed(err)
	}
	return x.json(fasthttp.StatusOK, body)
}
