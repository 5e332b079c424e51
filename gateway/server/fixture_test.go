package server

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp/fasthttputil"
	"go.uber.org/goleak"

	"rushgate/backend/api"
	"rushgate/config"
	"rushgate/gateway/admit"
	"rushgate/lua"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// These three end by themselves: fasthttp's clock for the Date field with
		// the process, a pool's cleaner one idle time after its last connection,
		// and a server's cleaner of workers when it looks the next time.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// patience bounds every wait of a test; none is meant to reach it.
const patience = 20 * time.Second

// orders is a backend that answers as it is told to, with orders where it is not.
type orders struct {
	mu      sync.Mutex
	tickets []api.Ticket
	sales   []api.Sale
	down    bool

	place       func(context.Context, api.Ticket) (api.Order, error)
	find        func(context.Context) (api.Order, error)
	get, change func(user, id string) (api.Order, error)
}

func (o *orders) Place(ctx context.Context, t api.Ticket) (api.Order, error) {
	o.mu.Lock()
	o.tickets = append(o.tickets, t)
	o.mu.Unlock()
	if o.place != nil {
		return o.place(ctx, t)
	}
	return api.Order{OrderID: "77", BizID: t.BizID, Item: t.Item, User: t.User, Qty: t.Qty, State: api.StateCreated}, nil
}

func (o *orders) Refuse(_ context.Context, _ api.Ticket, code api.Code) (api.Order, error) {
	return api.Order{}, &api.Refusal{Code: code}
}

func (o *orders) Find(ctx context.Context, _, _ string) (api.Order, error) {
	if o.find != nil {
		return o.find(ctx)
	}
	return api.Order{}, api.ErrNotFound
}

func (o *orders) Get(_ context.Context, user, id string) (api.Order, error) {
	if o.get != nil {
		return o.get(user, id)
	}
	return api.Order{}, api.ErrNotFound
}

func (o *orders) Pay(_ context.Context, user, id string) (api.Order, error) {
	return o.changed(user, id, api.StatePaid)
}

func (o *orders) Cancel(_ context.Context, user, id string) (api.Order, error) {
	return o.changed(user, id, api.StateCancelled)
}

func (o *orders) changed(user, id string, to api.State) (api.Order, error) {
	if o.change != nil {
		return o.change(user, id)
	}
	return api.Order{OrderID: id, User: user, State: to}, nil
}

func (o *orders) Catalogue(_ context.Context, etag string) (api.Catalogue, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.down:
		return api.Catalogue{}, api.ErrUnreachable
	case etag != "":
		return api.Catalogue{}, api.ErrNotModified
	}
	return api.Catalogue{Sales: o.sales, ETag: "1"}, nil
}

// gateway is a Server that sells these, with a client of it in this process:
//
//   - 1001, open, five units;
//   - out, open, sold out, which this gateway knows;
//   - early, from in an hour; late, over; paused; sql_out, which the backend lists as sold out.
type gateway struct {
	*Server
	t        testing.TB
	config   config.Config // that New was told
	orders   *orders
	filter   lua.Filter
	registry *prometheus.Registry
	log      *lines
	ln       *fasthttputil.InmemoryListener
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func catalogueOf(now time.Time) []api.Sale {
	sale := func(item string, starts, ends time.Duration, state string) api.Sale {
		return api.Sale{
			Item: item, Epoch: 1, Title: "Item " + item, PriceCents: 100, State: state, PerUser: 2, Mode: "sync",
			StartsAt: now.Add(starts).UnixMilli(), EndsAt: now.Add(ends).UnixMilli(),
		}
	}
	return []api.Sale{
		sale("1001", -time.Hour, time.Hour, api.SaleOpen), sale("out", -time.Hour, time.Hour, api.SaleOpen),
		sale("early", time.Hour, 2*time.Hour, api.SaleOpen), sale("late", -2*time.Hour, -time.Hour, api.SaleOpen),
		sale("paused", -time.Hour, time.Hour, api.SalePaused), sale("sql_out", -time.Hour, time.Hour, api.SaleSoldOut),
	}
}

// seeded is a filter that knows the sales: five units of 1001, none of the others.
func seeded(t testing.TB, sales []api.Sale) *lua.Memory {
	t.Helper()
	f := lua.NewMemory(lua.MemoryOptions{Keep: 24 * time.Hour})
	for _, v := range sales {
		s := lua.Seed{Item: v.Item, Epoch: v.Epoch, StartsAt: v.StartsAt, EndsAt: v.EndsAt, PerUser: int64(v.PerUser), Paused: v.State == api.SalePaused}
		if v.Item == "1001" {
			s.Stock = 5
		}
		if err := f.Seed(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// open starts a gateway on the defaults after change; nil for none.
func open(t *testing.T, change func(*config.Config)) *gateway {
	t.Helper()
	g := build(t, change)
	g.run(t)
	// It has learnt that one item is sold out.
	if _, err := g.gate.Buy(t.Context(), admit.Request{Item: "out", User: "x", BizID: "x", Qty: 1}); err == nil {
		t.Fatal("the item that is to be sold out sold")
	}
	return g
}

// run starts and serves until the end of the test.
func (g *gateway) run(t *testing.T) {
	t.Helper()
	g.Start(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(g.ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
}

// build is open without a start. options change what New is told.
func build(t testing.TB, change func(*config.Config), options ...func(*Options)) *gateway {
	t.Helper()
	c := config.Default()
	if change != nil {
		change(&c)
	}
	g := &gateway{t: t, config: c, orders: &orders{sales: catalogueOf(time.Now())}, registry: prometheus.NewRegistry(), log: &lines{}, ln: fasthttputil.NewInmemoryListener()}
	g.filter = seeded(t, g.orders.sales)
	o := Options{Config: c, Filter: g.filter, Orders: g.orders, Registry: g.registry, Log: slog.New(slog.NewTextHandler(g.log, nil))}
	for _, option := range options {
		option(&o)
	}
	var err error
	if g.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.cancel)
	return g
}

// reload puts the gateway's configuration in force after one more change.
func (g *gateway) reload(change func(*config.Config)) {
	g.t.Helper()
	change(&g.config)
	if err := g.Reload(&g.config); err != nil {
		g.t.Fatal(err)
	}
}

// count is the value of a counter, by its labels in the order of their names.
func (g *gateway) count(name string, labels ...string) float64 {
	g.t.Helper()
	families, err := g.registry.Gather()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			same := len(labels) == len(m.GetLabel())
			for i, l := range m.GetLabel() {
				same = same && labels[i] == l.GetValue()
			}
			if same {
				return m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
			}
		}
	}
	return 0
}

// generous lifts the limits of single users, items and all.
func generous(c *config.Config) {
	c.Limits.User = config.Rate{QPS: 1e6, Burst: 1e6}
	c.Limits.Item.QPS, c.Limits.Item.Burst = 1e6, 1e6
	c.Limits.Global.QPS, c.Limits.Global.Burst = 1e6, 1e6
}
