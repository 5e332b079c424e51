package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"rushgate/backend/api"
	"rushgate/backend/order"
	"rushgate/backend/store"
	"rushgate/config"
)

func (p *program) sale() *cobra.Command {
	c := &cobra.Command{Use: "sale", Short: "Create, list, pause, resume and preheat sales", Args: cobra.NoArgs}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	pause := func(use, short, done string, paused bool) *cobra.Command {
		return &cobra.Command{Use: use + " ITEM", Short: short, Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			return p.withStore(c.Context(), func(ctx context.Context, _ *config.Config, s *store.Store) error {
				if err := s.SetPaused(ctx, args[0], paused); err != nil {
					return err
				}
				_, err := fmt.Fprintf(p.Stdout, "%s is %s; gateways follow within a second.\n", args[0], done)
				return err
			})
		}}
	}
	c.AddCommand(p.saleCreate(), p.saleList(),
		pause("pause", "Stop selling; purchases under way are told paused", "paused", true),
		pause("resume", "Sell again", "on sale again", false),
		p.salePreheat())
	return c
}

// newSale are the flags of sale create.
type newSale struct {
	item, title, starts, ends, mode string
	price, units, perUser           int64
}

func (p *program) saleCreate() *cobra.Command {
	var n newSale
	c := &cobra.Command{
		Use: "create", Short: "Put an item on sale", Args: cobra.NoArgs,
		Example: "  backend sale create --item 2001 --title Kettle --price 1990 --units 100 --starts 2027-01-01T10:00:00+08:00 --ends 1h",
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := p.Load()
			if err != nil {
				return err
			}
			return p.withNewStore(c.Context(), l, func(ctx context.Context, _ *config.Config, s *store.Store) error {
				now, err := s.Now(ctx)
				if err != nil {
					return err
				}
				sale, err := n.parse(now)
				if err != nil {
					return &config.Exit{Code: config.ExitUsage, Err: err}
				}
				if err := s.Create(ctx, sale); err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.Stdout, "%s: %d units at %s, from %s to %s, %d a user.\n", sale.Item, sale.Num, money(sale.PriceCents), stamp(sale.StartsAt), stamp(sale.EndsAt), sale.PerUser)
				return err
			})
		},
	}
	f := c.Flags()
	f.StringVar(&n.item, "item", "", "item `id`: letters, digits, - and _, at most 64")
	f.StringVar(&n.title, "title", "", "`title` as buyers read it")
	f.Int64Var(&n.price, "price", 0, "price of a unit in `cents`")
	f.Int64Var(&n.units, "units", 0, "`units` on sale")
	f.StringVar(&n.starts, "starts", "now", "`now` or a time as RFC 3339")
	f.StringVar(&n.ends, "ends", "", "a time as RFC 3339, or a `duration` after the start")
	f.Int64Var(&n.perUser, "per-user", 1, "`units` that one user may buy")
	f.StringVar(&n.mode, "mode", "sync", "sync: buyers wait for their order")
	for _, name := range []string{"item", "title", "price", "units", "ends"} {
		_ = c.MarkFlagRequired(name) // the flag stands right above
	}
	return c
}

// maxUnits keeps every sum of units and of money within 63 bits.
const maxUnits = 1_000_000_000

// parse checks the flags; every error says what to write instead.
func (n *newSale) parse(nowMS int64) (order.Sale, error) {
	v := order.Sale{Item: n.item, Title: n.title, PriceCents: n.price, Num: n.units, PerUser: n.perUser, Mode: n.mode}
	starts, ends, err := n.window(time.UnixMilli(nowMS))
	v.StartsAt, v.EndsAt = starts.UnixMilli(), ends.UnixMilli()
	switch {
	case err != nil:
		return v, err
	case !api.ValidItem(n.item):
		return v, fmt.Errorf("--item %q: use 1 to 64 letters, digits, - and _", n.item)
	case n.title == "" || len(n.title) > 200:
		return v, fmt.Errorf("--title: write 1 to 200 bytes")
	case n.price < 0 || n.price > math.MaxInt64/maxUnits:
		return v, fmt.Errorf("--price %d: cents, from 0 to %d", n.price, int64(math.MaxInt64/maxUnits))
	case n.units < 0 || n.units > maxUnits:
		return v, fmt.Errorf("--units %d: from 0 to %d", n.units, maxUnits)
	case n.perUser < 1 || n.perUser > maxUnits:
		return v, fmt.Errorf("--per-user %d: from 1 to %d", n.perUser, maxUnits)
	case n.mode == "async":
		return v, fmt.Errorf("--mode async: async sales need the queue on Redis, which this version does not have; use sync")
	case n.mode != "sync":
		return v, fmt.Errorf("--mode %q: use sync", n.mode)
	case v.EndsAt <= v.StartsAt:
		return v, fmt.Errorf("--ends %s: must be after the start, %s", n.ends, stamp(v.StartsAt))
	case v.EndsAt <= nowMS:
		return v, fmt.Errorf("--ends %s: is over already", n.ends)
	}
	return v, nil
}

func (n *newSale) window(now time.Time) (starts, ends time.Time, err error) {
	if starts = now; n.starts != "now" {
		if starts, err = time.Parse(time.RFC3339, n.starts); err != nil {
			return starts, ends, fmt.Errorf("--starts %q: write now, or a time such as 2027-01-01T10:00:00+08:00", n.starts)
		}
	}
	if d, derr := time.ParseDuration(n.ends); derr == nil {
		return starts, starts.Add(d), nil
	}
	if ends, err = time.Parse(time.RFC3339, n.ends); err != nil {
		err = fmt.Errorf("--ends %q: write a duration such as 1h30m, or a time such as 2027-01-01T12:00:00+08:00", n.ends)
	}
	return starts, ends, err
}

func (p *program) saleList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List every sale", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return p.withStore(c.Context(), func(ctx context.Context, _ *config.Config, s *store.Store) error {
			sales, err := s.Sales(ctx, 0)
			if err != nil {
				return err
			}
			if asJSON {
				return p.json(listed(sales))
			}
			return p.table(func(w io.Writer) {
				fmt.Fprintln(w, "ITEM\tTITLE\tPRICE\tLEFT\tSTATE\tSTARTS\tENDS\tPER USER\tMODE")
				for _, v := range listed(sales) {
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s\n", v.Item, v.Title, money(v.PriceCents), v.Left, v.State, stamp(v.StartsAt), stamp(v.EndsAt), v.PerUser, v.Mode)
				}
			})
		})
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// line is a sale as sale list prints it. Times are Unix milliseconds.
type line struct {
	Item       string `json:"item"`
	Title      string `json:"title"`
	PriceCents int64  `json:"price_cents"`
	Left       int64  `json:"left"`
	State      string `json:"state"`
	StartsAt   int64  `json:"starts_at"`
	EndsAt     int64  `json:"ends_at"`
	PerUser    int64  `json:"per_user"`
	Mode       string `json:"mode"`
	Epoch      int64  `json:"epoch"`
}

func listed(sales []order.Sale) []line {
	lines := make([]line, len(sales))
	for i := range sales {
		v := &sales[i]
		lines[i] = line{v.Item, v.Title, v.PriceCents, v.Num, state(v), v.StartsAt, v.EndsAt, v.PerUser, v.Mode, v.Epoch}
	}
	return lines
}

func state(v *order.Sale) string {
	switch {
	case v.Now >= v.EndsAt:
		return api.SaleEnded
	case v.Paused:
		return api.SalePaused
	case v.Now < v.StartsAt:
		return api.SaleUpcoming
	case v.Num == 0:
		return api.SaleSoldOut
	}
	return api.SaleOpen
}

func (p *program) salePreheat() *cobra.Command {
	return &cobra.Command{Use: "preheat ITEM", Short: "Seed the filter now, before its time", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.withStore(c.Context(), func(ctx context.Context, _ *config.Config, s *store.Store) error {
			epoch, err := s.Preheat(ctx, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Stdout, "%s is at epoch %d; in memory mode the gateway's process, which has the filter, seeds it within a second.\n", args[0], epoch)
			return err
		})
	}}
}
