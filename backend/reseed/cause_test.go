package reseed

import (
	"testing"
	"time"

	"rushgate/backend/order"
	"rushgate/lua"
)

func TestCause(t *testing.T) {
	const now, epoch, quietly = 1_000_000, 500, 10_000
	agreeing := func() look {
		return look{
			view:        lua.View{Epoch: epoch, Stock: 7, AdmittedAt: now - quietly},
			sale:        order.Sale{Num: 7, Epoch: epoch, StartsAt: now - 100_000, EndsAt: now + 100_000, Now: now, LastOrderAt: now - quietly},
			repairAfter: 4 * time.Second,
		}
	}
	for name, c := range map[string]struct {
		change func(*look)
		want   Cause
	}{
		"agreement":                      {func(*look) {}, noReason},
		"before the start":               {func(l *look) { l.view, l.sale.StartsAt = lua.View{}, now+1 }, Preheat},
		"at the start":                   {func(l *look) { l.view, l.sale.StartsAt = lua.View{}, now }, Missing},
		"nothing known":                  {func(l *look) { l.view = lua.View{} }, Missing},
		"another server":                 {func(l *look) { l.view = lua.View{Epoch: epoch, Stale: true} }, Missing},
		"a lost part, and paused since":  {func(l *look) { l.view.Stale, l.sale.Epoch = true, epoch+1 }, Missing},
		"paused or resumed":              {func(l *look) { l.sale.Epoch++ }, Old},
		"a raise that SQL lost":          {func(l *look) { l.sale.Epoch-- }, Ahead},
		"sold on the DB path":            {func(l *look) { l.sale.DBEpoch = epoch }, DBPath},
		"in an earlier epoch":            {func(l *look) { l.sale.DBEpoch = epoch - 1 }, noReason},
		"sold out behind the filter":     {func(l *look) { l.soldOut, l.sale.Num = true, 0 }, SoldOut},
		"while orders come in":           {func(l *look) { l.soldOut, l.sale.LastOrderAt = true, now }, SoldOut},
		"sold out in both":               {func(l *look) { l.soldOut, l.sale.Num, l.view.Stock = true, 0, 0 }, noReason},
		"too many units":                 {func(l *look) { l.view.Stock++ }, Drift},
		"too few":                        {func(l *look) { l.view.Stock-- }, Drift},
		"while an order is young":        {func(l *look) { l.view.Stock--; l.sale.LastOrderAt = now - 3999 }, noReason},
		"when it no longer is":           {func(l *look) { l.view.Stock--; l.sale.LastOrderAt = now - 4000 }, Drift},
		"while an admission is young":    {func(l *look) { l.view.Stock--; l.view.AdmittedAt = now - 3999 }, noReason},
		"never an order":                 {func(l *look) { l.view.Stock--; l.view.AdmittedAt, l.sale.LastOrderAt = 0, 0 }, Drift},
		"the filter's clock is ahead":    {func(l *look) { l.view.Stock--; l.view.AdmittedAt = now + 50 }, noReason},
		"the same buyers":                {buyers(map[string]int64{"u": 1}, map[string]int64{"u": 1}), noReason},
		"another buyer":                  {buyers(map[string]int64{"u": 1}, map[string]int64{"v": 1}), Drift},
		"one more":                       {buyers(map[string]int64{"u": 1}, map[string]int64{"u": 1, "v": 1}), Drift},
		"other quantities":               {buyers(map[string]int64{"u": 1}, map[string]int64{"u": 2}), Drift},
		"SQL's buyers not read":          {buyers(nil, map[string]int64{"u": 2}), noReason},
		"the filter's buyers not read":   {buyers(map[string]int64{"u": 2}, nil), noReason},
		"no buyers in both":              {buyers(map[string]int64{}, map[string]int64{}), noReason},
		"ended":                          {func(l *look) { l.view, l.sale.EndsAt = lua.View{}, now }, noReason},
		"ended and different":            {func(l *look) { l.view.Stock, l.sale.EndsAt = 0, now-1; l.sale.DBEpoch = epoch }, noReason},
		"in the last millisecond of all": {func(l *look) { l.view, l.sale.EndsAt = lua.View{}, now+1 }, Missing},
	} {
		l := agreeing()
		c.change(&l)
		if got := l.cause(); got != c.want {
			t.Errorf("%s: cause %q, want %q", name, got, c.want)
		}
	}
}

func buyers(sql, filter map[string]int64) func(*look) {
	return func(l *look) { l.buyers, l.view.Buyers = sql, filter }
}
