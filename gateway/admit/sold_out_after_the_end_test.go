package admit

import (
	"context"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/gateway/catalogue"
)

// one is a catalogue with one sale.
type one struct{ sale api.Sale }

func (o one) Catalogue(context.Context, string) (api.Catalogue, error) {
	return api.Catalogue{Sales: []api.Sale{o.sale}, ETag: `"1"`}, nil
}

// A mark says nothing of the window: after the end its refusals say "ended".
func TestMarkSaysSoldOutAfterTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		ends time.Duration
		want api.Code
	}{"running": {time.Hour, api.SoldOut}, "over": {-time.Second, api.Ended}} {
		t.Run(name, func(t *testing.T) {
			sale := api.Sale{Item: "1", Epoch: 1, EndsAt: time.Now().Add(tt.ends).UnixMilli()}
			c := catalogue.New(catalogue.Options{Source: one{sale}, Timeout: time.Second})
			if err := c.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			g := &Gate{opt: Options{Catalogue: c, NowMS: func() int64 { return time.Now().UnixMilli() }}}
			got := (&try{g: g, r: &Request{Item: "1"}}).byMark()
			if got != tt.want {
				t.Errorf("told %s, want %s", got, tt.want)
			}
		})
	}
}
