package api_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/backend/api"
)

const aCatalogue = `{"now":5,"sales":[{"item":"1001","epoch":3,"reseed_until":0,"title":"a","price_cents":1,"starts_at":2,"ends_at":3,"state":"open","per_user":1,"mode":"sync"}]}`

func TestCatalogueIsNotReadTwice(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 2)
	p := startPeer(t, func(conn net.Conn, _ int, r *http.Request) bool {
		asked <- r.Header.Get("If-None-Match")
		if r.Header.Get("If-None-Match") != "" {
			write(conn, "HTTP/1.1 304 Not Modified\r\nETag: W/\"x y\"\r\n\r\n")
			return true
		}
		write(conn, fmt.Sprintf("HTTP/1.1 200 OK\r\nETag: W/\"x y\"\r\nContent-Length: %d\r\n\r\n%s", len(aCatalogue), aCatalogue))
		return true
	})
	client := newClient(t, p.addr)
	got, err := client.Catalogue(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := api.Catalogue{Now: 5, ETag: `W/"x y"`, Sales: []api.Sale{{
		Item: "1001", Epoch: 3, Title: "a", PriceCents: 1, StartsAt: 2, EndsAt: 3, State: "open", PerUser: 1, Mode: "sync",
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := client.Catalogue(t.Context(), got.ETag); !errors.Is(err, api.ErrNotModified) {
		t.Errorf("got %v, want ErrNotModified", err)
	}
	if first, second := <-asked, <-asked; first != "" || second != `W/"x y"` {
		t.Errorf("If-None-Match was %q, then %q", first, second)
	}
	if got := p.conns.Load(); got != 1 {
		t.Errorf("%d connections, want the kept one", got)
	}
}

// A catalogue that isn't one would take every sale off the gateway.
func TestBustedCatalogues(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]struct {
		status int
		body   string
	}{
		"empty body":      {200, ``},
		"empty object":    {200, `{}`},
		"null":            {200, `null`},
		"no sales":        {200, `{"now":5}`},
		"sales null":      {200, `{"now":5,"sales":null}`},
		"no clock":        {200, `{"now":0,"sales":[]}`},
		"no item":         {200, `{"now":5,"sales":[{"epoch":3}]}`},
		"cut":             {200, aCatalogue[:40]},
		"HTML":            {200, `<html>`},
		"created":         {201, aCatalogue},
		"nothing changed": {304, ``}, // was not asked
		"404":             {404, `<html>`},
		"500":             {500, `{"code":"internal_server_error"}`},
		"503":             {503, `{"code":"not_done"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
				answer(conn, a.status, a.body)
				return false
			})
			got, err := newClient(t, p.addr, p.addr).Catalogue(t.Context(), "")
			if !errors.Is(err, api.ErrFailed) || errors.Is(err, api.ErrUnknown) {
				t.Errorf("got %v, want ErrFailed", err)
			}
			if diff := cmp.Diff(api.Catalogue{}, got); diff != "" {
				t.Error(diff)
			}
			wantRequests(t, p, 1)
		})
	}
}

func TestNoSaleIsACatalogueToo(t *testing.T) {
	t.Parallel()
	p := startPeer(t, func(conn net.Conn, _ int, _ *http.Request) bool {
		answer(conn, 200, `{"now":5,"sales":[]}`)
		return true
	})
	if got, err := newClient(t, p.addr).Catalogue(t.Context(), ""); err != nil || got.Now != 5 {
		t.Errorf("got %+v, %v", got, err)
	}
}
