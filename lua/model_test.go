package lua

import "slices"

// model is the filter as one would write it down in a minute: a list of sales,
// each a list of rows, everything found by walking it. It is too slow to use and
// too plain to be wrong.
type model struct {
	keep  int64 // milliseconds
	sales []modelSale
}

type modelSale struct {
	Seed
	foreign    bool // seeded into another server
	rows       []row
	admittedAt int64
}

// row says that a user holds qty units by an attempt. Units that a seed gives
// stand in a row without an attempt, its attempts in rows without units.
type row struct {
	user, bizID string
	qty         int64
}

// at returns the item's sale, or nil.
func (m *model) at(item string, now int64) *modelSale {
	for i, s := range m.sales {
		if s.Item == item && now-m.keep < s.EndsAt {
			return &m.sales[i]
		}
	}
	return nil
}

func (m *model) live(item string, now int64) *modelSale {
	if s := m.at(item, now); s != nil && !s.foreign {
		return s
	}
	return nil
}

func (m *model) admit(b Batch, now int64) []Verdict {
	told := make([]Verdict, 0, len(b.Requests))
	for _, r := range b.Requests {
		s := m.live(b.Item, now)
		v := Stale
		if s != nil && s.Epoch == b.Epoch {
			v = s.ask(r, now)
		}
		if v == Admitted {
			s.Stock -= int64(r.Qty)
			s.rows = append(s.rows, row{r.User, r.BizID, int64(r.Qty)})
			s.admittedAt = now
		}
		told = append(told, v)
	}
	return told
}

func (s *modelSale) ask(r Request, now int64) Verdict {
	for _, row := range s.rows {
		if row.user == r.User && row.bizID == r.BizID {
			return Again
		}
	}
	if now < s.StartsAt {
		return NotStarted
	}
	if now >= s.EndsAt {
		return Ended
	}
	if s.Paused {
		return Paused
	}
	if s.units()[r.User]+int64(r.Qty) > s.PerUser {
		return Duplicate
	}
	if s.Stock < int64(r.Qty) {
		return SoldOut
	}
	return Admitted
}

func (m *model) restore(item, user, bizID string, qty, now int64) bool {
	s := m.live(item, now)
	if s == nil {
		return false
	}
	i := slices.IndexFunc(s.rows, func(r row) bool { return r.user == user && r.bizID == bizID })
	if i < 0 {
		return false
	}
	back := s.rows[i].qty
	s.rows = slices.Delete(s.rows, i, i+1)
	for j, r := range s.rows {
		if back == 0 && r.user == user && r.bizID == "" {
			back = min(qty, r.qty)
			s.rows[j].qty -= back
			break
		}
	}
	s.Stock += back
	s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return r.bizID == "" && r.qty == 0 })
	return true
}

func (m *model) seed(s Seed, now int64) bool {
	if old := m.at(s.Item, now); old != nil && old.Epoch >= s.Epoch {
		return false
	}
	next := modelSale{Seed: s}
	for user, n := range s.Buyers {
		if n.Qty > 0 {
			next.rows = append(next.rows, row{user, "", n.Qty})
		}
		for _, bizID := range n.BizIDs {
			next.rows = append(next.rows, row{user, bizID, 0})
		}
	}
	m.sales = append(slices.DeleteFunc(m.sales, func(old modelSale) bool { return old.Item == s.Item }), next)
	return true
}

// units is what each user noted holds.
func (s *modelSale) units() map[string]int64 {
	held := map[string]int64{}
	for _, r := range s.rows {
		held[r.user] += r.qty
	}
	return held
}

// view is View with the buyers and without a version.
func (m *model) view(item string, now int64) View {
	s := m.at(item, now)
	switch {
	case s == nil:
		return View{Stale: true}
	case s.foreign:
		return View{Epoch: s.Epoch, Stale: true}
	}
	return View{Epoch: s.Epoch, Stock: s.Stock, Buyers: s.units(), AdmittedAt: s.admittedAt}
}

func (m *model) copy() []modelSale {
	copied := slices.Clone(m.sales)
	for i := range copied {
		copied[i].rows = slices.Clone(copied[i].rows)
	}
	return copied
}

// failover puts a copy in the place of everything.
func (m *model) failover(copied []modelSale) {
	m.sales = (&model{sales: copied}).copy()
	for i := range m.sales {
		m.sales[i].foreign = true
	}
}
