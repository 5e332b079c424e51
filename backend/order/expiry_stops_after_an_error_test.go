package order_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/backend/api"
	"rushgate/backend/order"
)

// failingLife fails to expire the first time.
type failingLife struct {
	order.LifeStore
	asked int
}

func (f *failingLife) Expire(ctx context.Context, _ int) ([]api.Order, error) {
	f.asked++
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("no bound")
	}
	if f.asked == 1 {
		return nil, errors.New("disk full")
	}
	return nil, nil
}

func TestExpiryStopsAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		store := &failingLife{}
		life := &order.Life{Store: store, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { life.Run(ctx, time.Second) })
		time.Sleep(3500 * time.Millisecond) // of the bubble
		cancel()
		wg.Wait()
		if store.asked != 3 {
			t.Errorf("looked %d times in three seconds, want 3", store.asked)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "disk full") {
			t.Errorf("the log says %q, want the one error", got)
		}
	})
}
