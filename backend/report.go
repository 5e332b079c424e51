package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"rushgate/backend/reseed"
	"rushgate/backend/server"
	"rushgate/backend/store"
	"rushgate/config"
)

// stockLine is what backend stock prints of a sale, in units.
type stockLine struct {
	Item   string `json:"item"`
	Put    int64  `json:"put_on_sale"` // initial, added and removed
	Held   int64  `json:"held"`        // by orders created or paid
	Left   int64  `json:"left"`
	Buyers int    `json:"buyers"`
	Epoch  int64  `json:"epoch"`
}

func (p *program) stock() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "stock ITEM", Short: "Show an item's units", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.withStore(c.Context(), func(ctx context.Context, _ *config.Config, s *store.Store) error {
			b, err := s.Books(ctx, args[0])
			if err != nil {
				return err
			}
			l := stockLine{b.Sale.Item, b.JournalStock, b.ActiveUnits, b.Sale.Num, len(b.Buyers), b.Sale.Epoch}
			if asJSON {
				return p.json(l)
			}
			return p.table(func(w io.Writer) {
				fmt.Fprintf(w, "ITEM\tPUT ON SALE\tHELD BY ORDERS\tLEFT\tBUYERS\tEPOCH\n%s\t%d\t%d\t%d\t%d\t%d\n", l.Item, l.Put, l.Held, l.Left, l.Buyers, l.Epoch)
			})
		})
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// errFindings ends an audit that found something.
var errFindings = errors.New("the audit found differences")

func (p *program) audit() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "audit [ITEM]", Short: "Check that nothing is oversold, lost or counted twice; exit 5 if something is", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withStore(c.Context(), func(ctx context.Context, c *config.Config, s *store.Store) error {
				item := ""
				if len(args) > 0 {
					item = args[0]
				}
				r, err := auditOf(ctx, c, s, item)
				if err != nil {
					return err
				}
				if asJSON {
					err = p.json(r)
				} else {
					err = p.auditTable(&r)
				}
				if err == nil && len(r.Findings) > 0 {
					err = &config.Exit{Code: config.ExitFindings, Err: errFindings}
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// auditOf checks SQL and, where it is in a Redis, the filter.
func auditOf(ctx context.Context, c *config.Config, s *store.Store, item string) (reseed.Report, error) {
	filter, stop, err := server.OpenFilter(c)
	if err != nil {
		return reseed.Report{}, err
	}
	r, err := reseed.AuditLive(ctx, s, filter, item, time.Duration(c.Sales.RepairAfter)+time.Second)
	return r, errors.Join(err, stop())
}

func (p *program) auditTable(r *reseed.Report) error {
	return p.table(func(w io.Writer) {
		if len(r.Findings) == 0 {
			fmt.Fprintf(w, "%d sales checked, no difference found.\n", len(r.Items))
		} else {
			fmt.Fprintln(w, "ITEM\tRULE\tCLASS\tWHAT")
			for _, f := range r.Findings {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Item, f.Rule, f.Class, f.Detail)
			}
		}
		for _, n := range r.NotShown {
			fmt.Fprintf(w, "Not shown: %s.\n", n)
		}
	})
}
