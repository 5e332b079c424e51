package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// order reads an answer that is an order or a problem. An order about anything
// but the question is no answer: it may be another call's, and would be told to
// the wrong buyer.
func (q *question) order(a answer, fits func(*Order) bool) (Order, error) {
	if a.status != q.want {
		return Order{}, q.problem(a)
	}
	var o Order
	if err := json.Unmarshal(a.body, &o); err != nil {
		return Order{}, q.lost(fmt.Errorf("the answer is no order: %w", err))
	}
	if !fits(&o) {
		return Order{}, q.lost(errors.New("the answer is about something else"))
	}
	return o, nil
}

// catalogue reads an answer that is a catalogue. An object without sales is
// refused, since an empty catalogue would take every sale off the gateway; no
// sale at all is an empty list.
func (q *question) catalogue(a answer) (Catalogue, error) {
	switch {
	case a.status == http.StatusNotModified && q.etag != "":
		return Catalogue{}, ErrNotModified
	case a.status != q.want:
		return Catalogue{}, q.problem(a)
	}
	var cat Catalogue
	if err := json.Unmarshal(a.body, &cat); err != nil {
		return Catalogue{}, q.lost(fmt.Errorf("the answer is no catalogue: %w", err))
	}
	if cat.Now <= 0 || cat.Sales == nil {
		return Catalogue{}, q.lost(errors.New("the catalogue lacks now or sales"))
	}
	for i := range cat.Sales {
		if !ValidItem(cat.Sales[i].Item) {
			return Catalogue{}, q.lost(fmt.Errorf("the catalogue's sale %d has no legal item", i))
		}
	}
	cat.ETag = a.etag
	return cat, nil
}

// problem returns what an answer other than the wanted one says.
func (q *question) problem(a answer) error {
	if err := parseProblem(a.status, a.body); err != nil {
		return fmt.Errorf("%s: %w", q.op, err)
	}
	return q.lost(fmt.Errorf("status %d is no answer of the contract", a.status))
}
