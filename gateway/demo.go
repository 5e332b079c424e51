package main

import (
	"context"
	"time"

	"rushgate/backend/order"
	"rushgate/backend/store"
)

// demoSales are what a newcomer finds: one open, one that opens while the page
// is being looked at, one to count down to.
func demoSales(now time.Time) []order.Sale {
	day := 24 * time.Hour
	sale := func(item, title string, cents, units int64, starts time.Time) order.Sale {
		return order.Sale{
			Item: item, Title: title, PriceCents: cents, Num: units, PerUser: 1, Mode: "sync",
			StartsAt: starts.UnixMilli(), EndsAt: starts.Add(day).UnixMilli(),
		}
	}
	return []order.Sale{
		sale("1001", "Enamel kettle, 1.2 l", 1990, 100, now),
		sale("1002", "Desk lamp, brass", 4900, 50, now.Add(30*time.Second)),
		sale("1003", "Mechanical keyboard", 8900, 20, now.Add(day)),
	}
}

// makeDemo puts the demonstration sales on offer anew, so that a second start
// never shows a sold-out shop.
func makeDemo(ctx context.Context, s *store.Store) error {
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	_, err = s.Demo(ctx, demoSales(time.UnixMilli(now)))
	return err
}
