package reseed

import (
	"context"
	"fmt"
	"time"

	"rushgate/backend/order"
	"rushgate/lua"
)

// Books are the sums that SQL keeps of one sale, read in one snapshot.
type Books struct {
	Sale         order.Sale
	JournalSum   int64            // of all deltas
	JournalStock int64            // initial + added - removed
	ActiveUnits  int64            // of orders created or paid
	OverLimit    []string         // users whose active orders exceed per_user
	QuotaDrift   []string         // users whose quota is not their active orders
	SameKey      int64            // (user, biz_id) with more than one outcome
	Orphans      []string         // active orders without their journal entry, or entries without their order
	DoubleReturn []string         // orders whose units came back more than once, or while active
	Buyers       map[string]int64 // units of active orders by user
}

// Finding is one difference, by the name of its invariant.
type Finding struct {
	Item   string `json:"item"`
	Rule   string `json:"rule"`  // "I1" to "I7"
	Class  string `json:"class"` // oversell, undersell, journal_drift, over_limit, quota_drift, duplicate_outcome, orphan_order, double_return, filter_drift
	Detail string `json:"detail"`
}

// Check holds the books of one sale against the invariants that SQL alone can
// show. It is pure.
func (b *Books) Check() []Finding {
	var found []Finding
	add := func(rule, class, format string, args ...any) {
		found = append(found, Finding{Item: b.Sale.Item, Rule: rule, Class: class, Detail: fmt.Sprintf(format, args...)})
	}
	if b.Sale.Num < 0 {
		add("I1", "oversell", "%d units left", b.Sale.Num)
	}
	if left := b.JournalStock - b.ActiveUnits; left != b.Sale.Num {
		class := "undersell"
		if left < b.Sale.Num {
			class = "oversell"
		}
		add("I2", class, "%d put on sale, %d held by active orders, so %d should be left; the sale says %d", b.JournalStock, b.ActiveUnits, left, b.Sale.Num)
	}
	if b.JournalSum != b.Sale.Num {
		add("I2", "journal_drift", "the journal sums to %d, the sale says %d", b.JournalSum, b.Sale.Num)
	}
	each := func(rule, class, what string, names []string) {
		for _, name := range names {
			add(rule, class, what, name)
		}
	}
	each("I3", "over_limit", "user %s holds more than per_user allows", b.OverLimit)
	each("I3", "quota_drift", "the quota of user %s is not the units of the user's active orders", b.QuotaDrift)
	if b.SameKey > 0 {
		add("I4", "duplicate_outcome", "%d keys with more than one outcome", b.SameKey)
	}
	each("I2", "orphan_order", "order %s and the journal do not match", b.Orphans)
	each("I7", "double_return", "units of order %s came back more than once", b.DoubleReturn)
	return found
}

// CheckFilter holds the filter's view against SQL (I6). It is true only when
// traffic has been quiet for repair_after and a second. It says nothing while a
// reseed runs, after the end, and before the start of a sale that the filter has
// not heard of: its preheat may be ahead.
func (b *Books) CheckFilter(v lua.View) []Finding {
	find := func(format string, args ...any) []Finding {
		return []Finding{{Item: b.Sale.Item, Rule: "I6", Class: "filter_drift", Detail: fmt.Sprintf(format, args...)}}
	}
	switch l := (&look{view: v, sale: b.Sale, buyers: b.Buyers}); {
	case b.Sale.Now >= b.Sale.EndsAt, b.Sale.ReseedUntil >= b.Sale.Now:
		return nil
	case v.Epoch == 0 && b.Sale.Now < b.Sale.StartsAt:
		return nil // not preheated yet
	case v.Epoch == 0 || v.Stale:
		return find("the filter knows nothing of the sale")
	case v.Epoch != b.Sale.Epoch:
		return find("the filter is at epoch %d, SQL at %d", v.Epoch, b.Sale.Epoch)
	case v.Stock != b.Sale.Num:
		return find("the filter has %d units left, SQL %d", v.Stock, b.Sale.Num)
	case l.buyersDiffer():
		return find("the filter notes %d buyers, SQL %d, or other quantities", len(v.Buyers), len(b.Buyers))
	}
	return nil
}

// Auditor reads the books.
type Auditor interface {
	Books(ctx context.Context, item string) (*Books, error)
	Items(ctx context.Context) ([]string, error)
}

// Report is an audit of every sale, or of one.
type Report struct {
	Items    []string  `json:"items"`
	Findings []Finding `json:"findings"`
	// NotShown says what this audit could not see, in words; empty for nothing.
	NotShown []string `json:"not_shown"`
}

// Audit checks one item, or all for "". What SQL says of itself is checked
// without false alarms under traffic; for the filter see [Books.CheckFilter].
// filter may be nil where this process
// has none to look at, as a command beside a gateway in memory mode; the report
// then says so.
func Audit(ctx context.Context, books Auditor, filter lua.Filter, item string) (Report, error) {
	return audit(ctx, books, item, filter == nil, func(b *Books, r *Report) error {
		if filter == nil {
			return nil
		}
		view, err := filter.View(ctx, b.Sale.Item, true)
		if err != nil {
			return err
		}
		r.Findings = append(r.Findings, b.CheckFilter(view)...)
		return nil
	})
}

// AuditLive is Audit of a system that may be selling: a filter that doesn't answer
// is no finding, and it is held against SQL only where the sale was quiet for so
// long, before and between the looks. quiet is repair_after and a second, in which
// the seeder makes it right. The report says of which sales nothing was shown.
func AuditLive(ctx context.Context, books Auditor, filter lua.Filter, item string, quiet time.Duration) (Report, error) {
	if filter == nil {
		return Audit(ctx, books, nil, item)
	}
	var down error // a filter that gave no answer once is not waited for again
	return audit(ctx, books, item, false, func(b *Books, r *Report) error {
		item := b.Sale.Item
		view, err := lua.View{}, down
		if err == nil {
			view, err = filter.View(ctx, item, true)
		}
		if err != nil {
			down = err
			r.NotShown = append(r.NotShown, fmt.Sprintf("I6 of %s (the filter agrees with SQL): the filter does not answer (%v)", item, err))
			return nil
		}
		found := b.CheckFilter(view)
		if len(found) == 0 {
			return nil
		}
		after, err := books.Books(ctx, item)
		if err != nil {
			return err
		}
		l := look{view: view, sale: after.Sale, repairAfter: quiet}
		if !l.quiet() || after.Sale.Epoch != b.Sale.Epoch {
			r.NotShown = append(r.NotShown, fmt.Sprintf("I6 of %s (the filter agrees with SQL): there was traffic or a reseed less than %v ago; ask again when the sale is quiet", item, quiet))
			return nil
		}
		r.Findings = append(r.Findings, found...)
		return nil
	})
}

// audit reads the books of each item, and lets filtered hold the filter against them.
func audit(ctx context.Context, books Auditor, item string, noFilter bool, filtered func(*Books, *Report) error) (Report, error) {
	items := []string{item}
	if item == "" {
		var err error
		if items, err = books.Items(ctx); err != nil {
			return Report{}, err
		}
	}
	r := Report{Items: items, Findings: []Finding{}, NotShown: []string{
		"I5 (every answer that a client was given) shows only in the clients' own records",
	}}
	if noFilter {
		r.NotShown = append(r.NotShown, "I6 (the filter agrees with SQL): in memory mode the filter lives inside the gateway's process; rushgate_reseeds_total on its admin listener counts what had to be repaired")
	}
	for _, item := range items {
		b, err := books.Books(ctx, item)
		if err != nil {
			return r, fmt.Errorf("reading the books of %s: %w", item, err)
		}
		r.Findings = append(r.Findings, b.Check()...)
		if err := filtered(b, &r); err != nil {
			return r, fmt.Errorf("looking at the filter of %s: %w", item, err)
		}
	}
	return r, nil
}
