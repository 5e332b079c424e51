package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"rushgate/backend/api"
	"rushgate/backend/server"
	"rushgate/backend/store/storetest"
	"rushgate/config"
	"rushgate/lua"
)

// backendIn opens and starts a backend over the data in a folder. filter may be
// nil. Ending it twice is fine.
func backendIn(t *testing.T, data string, filter lua.Filter) (b *server.Backend, registry *prometheus.Registry, end func()) {
	t.Helper()
	c := config.Default()
	c.Data = data
	registry = prometheus.NewRegistry()
	b, err := server.Open(t.Context(), server.Options{Config: c, Filter: filter, Log: slog.New(slog.DiscardHandler), Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	t.Cleanup(end)
	b.Start(t.Context())
	return b, registry, end
}

func dbTicket(item, user string) api.Ticket {
	return api.Ticket{Item: item, User: user, BizID: "k", Qty: 1, Path: api.PathDB, Exp: time.Now().Add(time.Hour).UnixMilli()}
}

// over returns a client of a backend, on the other side of the wire.
func over(t *testing.T, b api.Orders) api.Orders {
	t.Helper()
	keys := api.RandomKeys()
	web := httptest.NewServer(server.Handler(server.HandlerOptions{Orders: b, Keys: keys}))
	t.Cleanup(web.Close)
	client, err := api.NewClient(api.ClientOptions{Servers: []string{web.Listener.Addr().String()}, Keys: keys, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// A gateway that has the catalogue is told so, on both sides of the wire, and
// hears of every change.
func TestCatalogueSentAgainUnchanged(t *testing.T) {
	b, _, _ := backendIn(t, t.TempDir(), nil)
	storetest.Create(t, b.Store, storetest.Sale("1", 1))
	for where, o := range map[string]api.Orders{"direct": b, "over HTTP": over(t, b)} {
		item := strings.ReplaceAll(where, " ", "-")
		last := ""
		changed := func(what string) {
			t.Helper()
			c, err := o.Catalogue(t.Context(), last)
			if err != nil || c.ETag == "" || c.ETag == last {
				t.Fatalf("%s, %s: catalogue %+v, %v after tag %q", where, what, c, err, last)
			}
			if _, err := o.Catalogue(t.Context(), c.ETag); !errors.Is(err, api.ErrNotModified) {
				t.Errorf("%s, %s: asked with the current tag: %v", where, what, err)
			}
			last = c.ETag
		}
		changed("at first")
		storetest.Create(t, b.Store, storetest.Sale(item, 1))
		changed("a new sale")
		if err := b.Store.SetPaused(t.Context(), item, true); err != nil {
			t.Fatal(err)
		}
		changed("paused")
		if err := b.Store.SetPaused(t.Context(), item, false); err != nil {
			t.Fatal(err)
		}
		changed("resumed")
		if _, err := o.Place(t.Context(), dbTicket(item, "u-"+item)); err != nil {
			t.Fatal(err)
		}
		changed("sold out")
	}
}

func TestTicketOfTheWrongPath(t *testing.T) {
	b, _, _ := backendIn(t, t.TempDir(), nil)
	storetest.Create(t, b.Store, storetest.Sale("1", 5))
	refuse := dbTicket("1", "u")
	refuse.Path = api.PathRefuse
	_, placed := b.Place(t.Context(), refuse)
	_, refused := b.Refuse(t.Context(), dbTicket("1", "u"), api.SoldOut)
	_, again := b.Refuse(t.Context(), refuse, api.Paused)
	for name, err := range map[string]error{
		"placing with a refusal's ticket": placed, "refusing with a purchase's": refused, "a refusal that says ask again": again,
	} {
		if !errors.Is(err, api.ErrFailed) {
			t.Errorf("%s: %v, want not done", name, err)
		}
	}
	if _, err := b.Find(t.Context(), "u", "k"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("one of them left a trace: %v", err)
	}
	if _, err := b.Refuse(t.Context(), refuse, api.SoldOut); err == nil || !strings.Contains(err.Error(), "sold_out") {
		t.Errorf("a proper refusal: %v", err)
	}
	if o, err := b.Find(t.Context(), "u", "k"); err != nil || o.State != api.StateRefused || o.Code != api.SoldOut {
		t.Errorf("is recorded as %+v, %v", o, err)
	}
}

// What a backend leaves, the next one takes up: the orders, and the filter
// rebuilt from them.
func TestRestart(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	data := t.TempDir()
	filter := lua.NewMemory(lua.MemoryOptions{})
	b, _, end := backendIn(t, data, filter)
	storetest.Create(t, b.Store, storetest.Sale("1", 5))
	o, err := b.Place(t.Context(), dbTicket("1", "u"))
	if err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := b.Place(t.Context(), dbTicket("1", "v")); !errors.Is(err, api.ErrFailed) {
		t.Errorf("placing with a closed backend: %v, want not done", err)
	}
	goleak.VerifyNone(t, ignore)

	filter = lua.NewMemory(lua.MemoryOptions{})
	b, _, _ = backendIn(t, data, filter)
	again, err := b.Place(t.Context(), dbTicket("1", "u"))
	if diff := cmp.Diff(o, again); diff != "" || err != nil {
		t.Errorf("the order after a restart: %s %v", diff, err)
	}
	v, err := filter.View(t.Context(), "1", true)
	if err != nil || v.Stock != 4 || v.Buyers["u"] != 1 {
		t.Errorf("the filter after a restart: %+v, %v", v, err)
	}
	second, err := b.Place(t.Context(), dbTicket("1", "v"))
	if err != nil || second.OrderID == o.OrderID {
		t.Errorf("the next order: %+v, %v", second, err)
	}
}

func TestCallsOfTheContract(t *testing.T) {
	b, registry, _ := backendIn(t, t.TempDir(), nil)
	storetest.Create(t, b.Store, storetest.Sale("1", 2))
	o := over(t, b)
	one, err := o.Place(t.Context(), dbTicket("1", "u"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := o.Place(t.Context(), dbTicket("1", "v"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := o.Get(t.Context(), "u", one.OrderID); err != nil || got != one {
		t.Errorf("get: %+v, %v", got, err)
	}
	if _, err := o.Get(t.Context(), "v", one.OrderID); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("get another's: %v", err)
	}
	if got, err := o.Find(t.Context(), "v", "k"); err != nil || got != two {
		t.Errorf("find: %+v, %v", got, err)
	}
	if got, err := o.Pay(t.Context(), "u", one.OrderID); err != nil || got.State != api.StatePaid {
		t.Errorf("pay: %+v, %v", got, err)
	}
	r, _ := errors.AsType[*api.Refusal](second(o.Cancel(t.Context(), "u", one.OrderID)))
	if r == nil || r.Code != api.OrderState || r.State != api.StatePaid {
		t.Errorf("cancel what is paid: %+v", r)
	}
	if got, err := o.Cancel(t.Context(), "v", two.OrderID); err != nil || got.State != api.StateCancelled {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	late := dbTicket("1", "w")
	late.Exp = time.Now().Add(-time.Second).UnixMilli()
	if _, err := b.Place(t.Context(), late); !errors.Is(err, api.ErrTicketExpired) {
		t.Errorf("a late ticket: %v", err)
	}
	want := map[string]float64{"path=db outcome=created": 2, "path=db outcome=failed": 1}
	if diff := cmp.Diff(want, counted(t, registry, "rushgate_orders_total")); diff != "" {
		t.Errorf("rushgate_orders_total: %s", diff)
	}
}

func second(_ api.Order, err error) error { return err }

// counted are a counter's series, but for their label again.
func counted(t *testing.T, r *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			series[fmt.Sprintf("path=%s outcome=%s", labels["path"], labels["outcome"])] += m.GetCounter().GetValue()
		}
	}
	return series
}

func TestDataFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Data = filepath.Join(file, "data")
	if _, err := server.OpenStore(t.Context(), &c, nil); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("got %v, want an error that says what to change", err)
	}
}

func TestReadyWhileTheDatabaseIsGone(t *testing.T) {
	ping := errors.New("disk on fire")
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "rushgate_test_total", Help: "A test."}))
	admin := server.AdminServer(registry, func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the question to the database has no bound")
		}
		return ping
	}).Handler
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w.Code, w.Body.String()
	}
	if code, body := ask("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "disk on fire") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if code, _ := ask("/livez"); code != http.StatusOK {
		t.Errorf("/livez: %d; the process is fine", code)
	}
	if code, body := ask("/metrics"); code != http.StatusOK || !strings.Contains(body, "rushgate_test_total 0") {
		t.Errorf("/metrics: %d %s", code, body)
	}
	ping = nil
	if code, _ := ask("/readyz"); code != http.StatusOK {
		t.Errorf("/readyz of a healthy database: %d", code)
	}
}
