package limit

import (
	"testing"
	"time"
)

// scope is anything with a rate that a reload changes.
type scope struct {
	allow func(now time.Time) Decision
	set   func(now time.Time, r Rate)
}

// scopes returns each kind of scope, made with the rate.
func scopes(r Rate) map[string]scope {
	bucket := NewBucket(r)
	keyed := NewKeyed[string](r, 100, noon)
	items := NewItems(ItemRates{Default: r}, 100)
	own := NewItems(ItemRates{Overrides: map[string]Rate{"1001": r}}, 100)
	return map[string]scope{
		"bucket": {bucket.Allow, bucket.Set},
		"key":    {func(now time.Time) Decision { return keyed.Allow("ann", now) }, keyed.Set},
		"item": {
			func(now time.Time) Decision { return items.Allow("1001", now) },
			func(now time.Time, r Rate) { items.Set(now, ItemRates{Default: r}) },
		},
		"item with its own rate": {
			func(now time.Time) Decision { return own.Allow("1001", now) },
			func(now time.Time, r Rate) { own.Set(now, ItemRates{Overrides: map[string]Rate{"1001": r}}) },
		},
	}
}

func TestReloadHandsOutNoBurst(t *testing.T) {
	five := Rate{QPS: 5, Burst: 5}
	type change struct {
		at   float64
		rate Rate
	}
	tests := map[string]struct {
		spend   int // at noon
		changes []change
		at      float64
		want    int // granted then, of many
	}{
		"the same rate, emptied":       {5, []change{{0, five}}, 0, 0},
		"the same rate, half spent":    {3, []change{{0, five}}, 0, 2},
		"raised burst":                 {5, []change{{0, Rate{QPS: 5, Burst: 500}}}, 0, 0},
		"raised burst, untouched":      {0, []change{{0, Rate{QPS: 5, Burst: 500}}}, 0, 5},
		"raised rate and burst":        {5, []change{{0, Rate{QPS: 100, Burst: 100}}}, 0.1, 10},
		"lowered burst":                {0, []change{{0, Rate{QPS: 5, Burst: 2}}}, 0, 2},
		"lowered, then raised":         {0, []change{{0, Rate{QPS: 5, Burst: 1}}, {0, five}}, 0, 1},
		"closed, then opened":          {5, []change{{0, Rate{}}, {60, five}}, 60, 0},
		"slower from the change on":    {5, []change{{0.2, Rate{QPS: 0.5, Burst: 5}}}, 2.2, 2},
		"faster from the change on":    {5, []change{{1, Rate{QPS: 50, Burst: 1000}}}, 1.2, 15},
		"fast only for a short while":  {5, []change{{0, Rate{QPS: 1000, Burst: 1000}}, {0.01, five}}, 0.01, 5},
		"fast and gone before a touch": {5, []change{{0, Rate{QPS: 10, Burst: 5}}, {0.2, Rate{QPS: 1, Burst: 5}}}, 1.2, 3},
	}
	for name, tt := range tests {
		for kind, s := range scopes(five) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s.allow(noon.Add(-time.Hour)) // known before, and full again
				granted(tt.spend, func() Decision { return s.allow(noon) })
				for _, c := range tt.changes {
					s.set(after(c.at), c.rate)
				}
				if got := granted(2000, func() Decision { return s.allow(after(tt.at)) }); got != tt.want {
					t.Errorf("granted %d, want %d", got, tt.want)
				}
			})
		}
	}
}

func TestAThousandReloadsHandOutNothing(t *testing.T) {
	low, high := Rate{QPS: 1, Burst: 10}, Rate{QPS: 1, Burst: 20}
	for kind, s := range scopes(low) {
		t.Run(kind, func(t *testing.T) {
			s.allow(noon.Add(-time.Hour)) // known before, and full again
			total := 0
			for i := range 1000 {
				now := noon.Add(time.Duration(i) * time.Millisecond)
				s.set(now, []Rate{high, low}[i%2])
				total += granted(3, func() Decision { return s.allow(now) })
			}
			if total != 10 {
				t.Errorf("granted %d within a second, want the burst of 10", total)
			}
		})
	}
}

func TestReloadOfTheSameRateLeavesNoTrace(t *testing.T) {
	r := Rate{QPS: 5, Burst: 5}
	k := NewKeyed[string](r, 100, noon)
	before := k.current.Load()
	for i := range 1000 {
		k.Set(after(float64(i)), r)
	}
	if k.current.Load() != before || before.next.Load() != nil {
		t.Error("a reload that changed nothing left a regime behind, which every bucket has to go through")
	}
}

// A bucket that the old rate would have filled soon is not forgotten then under
// a slower one: it would come back full.
func TestSlowerRateKeepsIdleBuckets(t *testing.T) {
	k := NewKeyed[string](Rate{QPS: 100, Burst: 100}, 100, noon)
	granted(100, func() Decision { return k.Allow("ann", noon) })
	k.Set(noon, Rate{QPS: 0.01, Burst: 100})
	for _, at := range []float64{10, 60} { // "bob" makes the table look at its clock
		k.Allow("bob", after(at))
		k.table.CleanUp()
	}
	if got := granted(100, func() Decision { return k.Allow("ann", after(100)) }); got != 1 {
		t.Errorf("granted %d after 100 s at one in 100 s, want 1", got)
	}
}

func TestClosingKeepsIdleBuckets(t *testing.T) {
	open := Rate{QPS: 5, Burst: 5}
	k := NewKeyed[string](open, 100, noon)
	granted(5, func() Decision { return k.Allow("ann", noon) })
	k.Set(noon, Rate{Burst: 5})
	k.table.CleanUp()
	k.Set(after(3600), open)
	k.table.CleanUp()
	if got := granted(5, func() Decision { return k.Allow("ann", after(3600)) }); got != 0 {
		t.Errorf("granted %d at the moment of opening again, want 0", got)
	}
}

func TestOverrideComesAndGoesWithoutABurst(t *testing.T) {
	def := Rate{QPS: 5, Burst: 5}
	items := NewItems(ItemRates{Default: def}, 100)
	allow := func() int { return granted(100, func() Decision { return items.Allow("1001", noon) }) }
	if got := allow(); got != 5 {
		t.Fatalf("granted %d at first, want 5", got)
	}
	items.Set(noon, ItemRates{Default: def, Overrides: map[string]Rate{"1001": {QPS: 50, Burst: 50}}})
	if got := allow(); got != 0 {
		t.Errorf("granted %d after the override came, want 0", got)
	}
	items.Set(noon, ItemRates{Default: def})
	if got := allow(); got != 0 {
		t.Errorf("granted %d after the override went, want 0", got)
	}
	if got := items.Allow("1001", noon).Rate; got != def {
		t.Errorf("decided by %v after the override went, want %v", got, def)
	}
}

func TestRatesOfItemsAreCopied(t *testing.T) {
	own := map[string]Rate{"1001": {QPS: 1, Burst: 1}}
	items := NewItems(ItemRates{Default: Rate{QPS: 2, Burst: 2}, Overrides: own}, 10)
	own["1001"] = Rate{}
	if d := items.Allow("1001", noon); !d.OK {
		t.Errorf("the caller's map changed a rate: %+v", d)
	}
}
