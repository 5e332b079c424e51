package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
	"rushgate/lua"
)

// elsewhere is a backend over HTTP that sells whatever a ticket of its epoch
// asks for.
type elsewhere struct {
	keys *api.Keys

	mu    sync.Mutex
	sale  api.Sale
	paths []string // of the tickets it was handed
}

func (e *elsewhere) move(epoch, reseedUntil int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sale.Epoch, e.sale.ReseedUntil = epoch, reseedUntil
}

func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	if r.URL.Path == "/v1/catalogue" {
		answer(200, api.Catalogue{Now: time.Now().UnixMilli(), Sales: []api.Sale{e.sale}})
		return
	}
	k, err := e.keys.Verify(r.Header.Get("Rushgate-Ticket"), time.Now())
	if err != nil {
		answer(http.StatusServiceUnavailable, nil)
		return
	}
	e.paths = append(e.paths, string(k.Path))
	if k.Path == api.PathRedis && k.Epoch != e.sale.Epoch {
		answer(http.StatusGone, map[string]any{"code": "stale", "epoch": e.sale.Epoch, "reseed_until": e.sale.ReseedUntil})
		return
	}
	answer(http.StatusCreated, api.Order{OrderID: "77", BizID: k.BizID, Item: k.Item, User: k.User, Qty: k.Qty, State: api.StateCreated})
}

// The filter here, the backend elsewhere: epochs come by HTTP, and whatever one
// of the two knows first, the buyer gets an order.
func TestBackendElsewhereMovesTheEpoch(t *testing.T) {
	for name, tt := range map[string]struct {
		move func(*testing.T, *elsewhere, *lua.Memory)
		want []string // paths of the tickets
	}{
		"agree":          {func(*testing.T, *elsewhere, *lua.Memory) {}, []string{"redis"}},
		"both moved":     {func(t *testing.T, e *elsewhere, f *lua.Memory) { e.move(2, 0); seedAt(t, f, 2) }, []string{"redis"}},
		"filter behind":  {func(_ *testing.T, e *elsewhere, _ *lua.Memory) { e.move(2, 0) }, []string{"redis", "db"}},
		"filter emptied": {func(_ *testing.T, _ *elsewhere, f *lua.Memory) { f.Wipe() }, []string{"db"}},
		"reseed ends": {func(t *testing.T, e *elsewhere, f *lua.Memory) {
			f.Wipe()
			e.move(2, time.Now().Add(time.Minute).UnixMilli())
			seedAt(t, f, 2)
		}, []string{"redis"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			e := &elsewhere{keys: api.RandomKeys(), sale: catalogueOf(now)[0]}
			srv := httptest.NewServer(e)
			defer srv.Close()
			client, err := api.NewClient(api.ClientOptions{Servers: []string{strings.TrimPrefix(srv.URL, "http://")}, Keys: e.keys, Timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			f := lua.NewMemory(lua.MemoryOptions{Keep: 24 * time.Hour})
			seedAt(t, f, 1)
			g := build(t, nil, func(o *Options) { o.Orders, o.Filter = client, f })
			g.run(t)
			tt.move(t, e, f)
			if got := g.outcome(purchase("u")); got != "Created" {
				t.Errorf("told %s", got)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if diff := cmp.Diff(tt.want, e.paths); diff != "" {
				t.Errorf("tickets (-want +got)\n%s", diff)
			}
		})
	}
}

func seedAt(t *testing.T, f *lua.Memory, epoch int64) {
	t.Helper()
	sale := catalogueOf(time.Now())[0]
	err := f.Seed(t.Context(), lua.Seed{Item: sale.Item, Epoch: epoch, StartsAt: sale.StartsAt, EndsAt: sale.EndsAt, PerUser: 2, Stock: 5})
	if err != nil {
		t.Fatal(err)
	}
}
