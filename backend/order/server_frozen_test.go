package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store/storetest"
)

// A server that freezes keeps nobody beyond the bounds: the purchase is unknown, or
// failed where nothing was sent that could become an order. When the server goes on,
// the same key makes one.
func TestServerFreezes(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"begin", "read", "commit"} {
		t.Run("before "+moment, func(t *testing.T) {
			onServers(t, private, func(t *testing.T, start func(testing.TB) *storetest.Server) {
				w := openWired(t, start(t), func(o *order.Options) { o.Timeout = time.Second })
				before := func(now string) {
					if now == moment {
						w.server.Pause()
					}
				}
				w.faults.update = func(_ context.Context, transact func(func(order.Tx) error) error, f func(order.Tx) error) error {
					before("begin")
					return transact(func(tx order.Tx) error {
						before("read")
						err := f(tx)
						before("commit")
						return err
					})
				}
				p := buy("1", "u", "k", 1)
				a := <-w.placing(t, p)
				switch {
				case errors.Is(a.err, api.ErrFailed):
					w.faults.update = nil
					w.server.Continue()
					w.isNot(t, p, 10)
				case errors.Is(a.err, api.ErrUnknown) && moment == "commit":
					w.faults.update = nil
					w.server.Continue()
				default:
					t.Fatalf("told %+v, %v; want failed, or unknown of a commit", a.order, a.err)
				}
				w.is(t, p, w.placesInTheEnd(t, p), 9)
			})
		})
	}
}

// placesInTheEnd asks with the same key until there is an order. A server that wakes
// up has old connections to end first.
func (w *wired) placesInTheEnd(t *testing.T, p order.Purchase) api.Order {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for {
		o, err := w.Place(ctx, p)
		if err == nil {
			return o
		}
		if ctx.Err() != nil || !errors.Is(err, api.ErrFailed) && !errors.Is(err, api.ErrUnknown) {
			t.Fatalf("told %v, want the order", err)
		}
	}
}
