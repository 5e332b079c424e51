package order_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// bound is how long a test waits for anything, at most.
const bound = time.Minute

// servers start a database server, or a database of its own on one.
type servers map[string]func(testing.TB) *storetest.Server

var (
	shared = servers{"mariadb": storetest.MariaDB, "postgres": storetest.PostgreSQL}
	// private ones may be killed and frozen.
	private = servers{"mariadb": storetest.StartMariaDB, "postgres": storetest.StartPostgreSQL}
)

// onServers runs a test over both database servers.
func onServers(t *testing.T, on servers, f func(t *testing.T, start func(testing.TB) *storetest.Server)) {
	t.Helper()
	t.Parallel()
	for name, start := range on {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, start)
		})
	}
}

// connect opens the store that a data source name leads to.
func connect(t *testing.T, driver, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Driver: driver, DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// wired is a shop behind a wire to its server, and ten units of item 1 on sale.
type wired struct {
	*shop
	server *storetest.Server
	wire   *storetest.Wire
	faults *faulty      // what the placer has for a store
	direct *store.Store // past the wire
}

func openWired(t *testing.T, s *storetest.Server, change func(*order.Options)) *wired {
	t.Helper()
	w := &wired{server: s, wire: storetest.NewWire(t, s), direct: connect(t, s.Driver(), s.DSN())}
	create(t, w.direct, "1", 10, 1)
	s.Exec(t, "CREATE TABLE weight (n INT)")
	behind := connect(t, s.Driver(), w.wire.DSN())
	w.faults = &faulty{Store: behind}
	w.shop = open(t, behind, func(o *order.Options) {
		o.Store = w.faults
		if change != nil {
			change(o)
		}
	})
	return w
}

// is fails the test unless SQL has exactly this order for the key, and left units.
func (w *wired) is(t *testing.T, p order.Purchase, o api.Order, left int64) {
	t.Helper()
	there, err := w.direct.Find(t.Context(), p.Key.User, p.Key.BizID)
	if err != nil || there != o {
		t.Errorf("SQL has %+v, %v; told was %+v", there, err, o)
	}
	w.has(t, left)
}

// isNot fails the test if SQL has an outcome for the key, or not so many units left.
func (w *wired) isNot(t *testing.T, p order.Purchase, left int64) {
	t.Helper()
	if there, err := w.direct.Find(t.Context(), p.Key.User, p.Key.BizID); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("SQL has %+v, %v; want nothing", there, err)
	}
	w.has(t, left)
}

// has fails the test unless so many units are left, and the books add up.
func (w *wired) has(t *testing.T, units int64) {
	t.Helper()
	if n := left(t, w.direct, "1"); n != units {
		t.Errorf("%d left, want %d", n, units)
	}
	clean(t, w.direct)
}

// places fails the test unless the purchase becomes an order.
func (w *wired) places(t *testing.T, p order.Purchase) api.Order {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	o, err := w.Place(ctx, p)
	if err != nil || o.State != api.StateCreated {
		t.Fatalf("told %+v, %v; want an order", o, err)
	}
	return o
}

// wait waits for a signal.
func wait(t *testing.T, signal <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(bound):
		t.Fatalf("%s has not come for %v", what, bound)
	}
}

// answer is what a purchase was told.
type answer struct {
	order api.Order
	err   error
}

// placing places a purchase meanwhile.
func (w *wired) placing(t *testing.T, p order.Purchase) <-chan answer {
	t.Helper()
	told := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	go func() {
		defer cancel()
		o, err := w.Place(ctx, p)
		told <- answer{o, err}
	}()
	return told
}

// hold begins a rival's transaction that has changed much, and holds the sale's row
// until it is rolled back.
func (w *wired) hold(t *testing.T) *sql.Tx {
	t.Helper()
	tx, err := w.server.DB(t).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	for _, statement := range []string{
		"INSERT INTO weight VALUES (1)" + strings.Repeat(",(1)", 500),
		"UPDATE sales SET title = 'held' WHERE item = '1'",
	} {
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return tx
}
