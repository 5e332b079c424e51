package admit

import (
	"testing"
	"time"

	"rushgate/lua"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

func set(users ...string) map[string]struct{} {
	s := make(map[string]struct{}, len(users))
	for _, u := range users {
		s[u] = struct{}{}
	}
	return s
}

// reply is of a batch with one request.
func reply(v lua.Verdict, left, version int64, buyers map[string]struct{}) *lua.Reply {
	return &lua.Reply{Verdicts: []lua.Verdict{v}, Left: left, Version: version, Buyers: buyers}
}

func TestMarkRefusesByWhatItKnows(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		epoch int64
		user  string
		qty   int64
		after time.Duration
		want  bool
	}{
		"more than is left":         {5, "u", 3, 0, true},
		"a moment before it is old": {5, "u", 3, 999 * ms, true},
		"old":                       {5, "u", 3, 1000 * ms, false},
		"as many as are left":       {5, "u", 2, 0, false},
		"fewer than are left":       {5, "u", 1, 0, false},
		"a buyer":                   {5, "ann", 3, 0, false},
		"no user":                   {5, "", 3, 0, true},
		"the next epoch":            {6, "u", 3, 0, false},
		"the one before":            {4, "u", 3, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b markBox
			b.observe(5, reply(lua.SoldOut, 2, 7, set("ann")), noon)
			if got := b.soldOut(tt.epoch, []byte(tt.user), tt.qty, noon.Add(tt.after)); got != tt.want {
				t.Errorf("refused: %t, want %t", got, tt.want)
			}
		})
	}
}

// What a batch shows, after a mark of epoch 5, 0 left, version 7 and buyer ann.
func TestBatchRenewsTheMarkOrDropsIt(t *testing.T) {
	const asked = 500 * time.Millisecond
	type standing struct {
		left    int64
		version int64
		until   time.Duration
		buyers  int
	}
	old := &standing{0, 7, time.Second, 1}
	renewed := &standing{0, 7, asked + time.Second, 1}
	tests := map[string]struct {
		epoch int64
		reply *lua.Reply
		want  *standing // nil: none
	}{
		"sold out, the same buyers":      {5, reply(lua.SoldOut, 0, 7, nil), renewed},
		"sold out, other buyers":         {5, reply(lua.SoldOut, 1, 9, set("ann", "bob")), &standing{1, 9, asked + time.Second, 2}},
		"sold out, buyers not told":      {5, reply(lua.SoldOut, 0, 9, nil), nil},
		"again, nothing changed":         {5, reply(lua.Again, 0, 7, nil), renewed},
		"duplicate, nothing changed":     {5, reply(lua.Duplicate, 0, 7, nil), renewed},
		"admitted":                       {5, reply(lua.Admitted, 0, 8, nil), nil},
		"again, units came back":         {5, reply(lua.Again, 1, 8, nil), nil},
		"stale":                          {5, reply(lua.Stale, 0, 0, nil), old},
		"overtaken, sold out":            {5, reply(lua.SoldOut, 0, 6, set()), old},
		"overtaken, admitted":            {5, reply(lua.Admitted, 0, 6, nil), old},
		"overtaken by an epoch":          {4, reply(lua.SoldOut, 0, 99, set()), old},
		"overtaken by an epoch, again":   {4, reply(lua.Again, 3, 99, nil), old},
		"the next epoch, sold out":       {6, reply(lua.SoldOut, 0, 1, set()), &standing{0, 1, asked + time.Second, 0}},
		"the next epoch, units for sale": {6, reply(lua.Admitted, 3, 1, nil), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b markBox
			b.observe(5, reply(lua.SoldOut, 0, 7, set("ann")), noon)
			b.observe(tt.epoch, tt.reply, noon.Add(asked))
			m := b.current.Load()
			if (m == nil) != (tt.want == nil) {
				t.Fatalf("mark %+v, want %+v", m, tt.want)
			}
			if m == nil {
				return
			}
			if got := (standing{m.left, m.version, m.fresh.Sub(noon), len(m.buyers)}); got != *tt.want {
				t.Errorf("mark %+v, want %+v", got, *tt.want)
			}
		})
	}
}

// Two batches saw the same; the one that was sent later answers first.
func TestLateReplyShortensTheMark(t *testing.T) {
	var b markBox
	b.observe(5, reply(lua.SoldOut, 0, 7, set()), noon.Add(time.Second))
	b.observe(5, reply(lua.SoldOut, 0, 7, set()), noon)
	if !b.soldOut(5, nil, 1, noon.Add(1900*time.Millisecond)) {
		t.Error("the mark ended with the earlier of the two")
	}
}

// A second after the filter was asked, not after it answered.
func TestSlowReplyLengthensTheMark(t *testing.T) {
	var b markBox
	b.observe(5, reply(lua.SoldOut, 0, 7, set()), noon.Add(-2*time.Second))
	if b.soldOut(5, nil, 1, noon) {
		t.Error("believed on a word that is two seconds old")
	}
}

func TestOneProbesTheOthersWait(t *testing.T) {
	const ms = time.Millisecond
	closed := func(b *markBox, user string, at time.Duration) (bool, *mark) {
		return b.closed(5, []byte(user), 1, noon.Add(at))
	}
	probed := func(t *testing.T) (*markBox, *mark) {
		t.Helper()
		b := &markBox{}
		b.observe(5, reply(lua.SoldOut, 0, 7, set("ann")), noon)
		for range 100 {
			// The cheap look probes nothing, however often it is taken.
			if b.soldOut(5, []byte("u"), 1, noon.Add(1500*ms)) {
				t.Fatal("refused by an old mark")
			}
		}
		refused, probe := closed(b, "u", 1500*ms)
		if refused || probe == nil {
			t.Fatal("the first after a second does not probe")
		}
		for range 100 {
			if refused, p := closed(b, "v", 1600*ms); !refused || p != nil {
				t.Fatal("a second request passes while the first probes")
			}
		}
		if refused, p := closed(b, "ann", 1600*ms); refused || p != nil {
			t.Fatal("a buyer was held up, or probes")
		}
		return b, probe
	}
	open := func(t *testing.T, b *markBox, at time.Duration) {
		t.Helper()
		if refused, p := closed(b, "v", at); refused || p != nil {
			t.Errorf("refused: %t, probing: %t; want neither", refused, p != nil)
		}
	}
	t.Run("confirmed", func(t *testing.T) {
		b, probe := probed(t)
		b.observe(5, reply(lua.SoldOut, 0, 7, nil), noon.Add(1600*ms))
		b.unconfirmed(probe)
		if refused, _ := closed(b, "v", 2500*ms); !refused {
			t.Error("the mark is gone")
		}
		if refused, p := closed(b, "v", 2600*ms); refused || p == nil {
			t.Error("a renewed mark is not probed again")
		}
	})
	t.Run("units are there", func(t *testing.T) {
		b, probe := probed(t)
		b.observe(5, reply(lua.Admitted, 3, 8, nil), noon.Add(1600*ms))
		open(t, b, 1600*ms)
		b.unconfirmed(probe)
	})
	t.Run("no answer", func(t *testing.T) {
		b, probe := probed(t)
		b.unconfirmed(probe)
		open(t, b, 1601*ms)
	})
	t.Run("no end", func(t *testing.T) {
		b, _ := probed(t)
		if refused, _ := closed(b, "v", 1699*ms); !refused {
			t.Error("open before the probe had its time")
		}
		open(t, b, 1700*ms)
		open(t, b, time.Hour)
	})
	t.Run("an older probe's end", func(t *testing.T) {
		b, probe := probed(t)
		b.observe(5, reply(lua.SoldOut, 0, 9, set()), noon.Add(1600*ms))
		b.unconfirmed(probe)
		if !b.soldOut(5, []byte("v"), 1, noon.Add(1700*ms)) {
			t.Error("a newer mark was dropped")
		}
	})
}

func TestSQLSaysSoldOut(t *testing.T) {
	t.Run("with the buyers that the filter knows", func(t *testing.T) {
		var b markBox
		b.bySQL(5, 1, &lua.View{Epoch: 5, Version: 7, Buyers: map[string]int64{"ann": 1}}, noon)
		if !b.soldOut(5, []byte("u"), 2, noon) || b.soldOut(5, []byte("u"), 1, noon) || b.soldOut(5, []byte("ann"), 2, noon) {
			t.Error("it does not hold 1 left and ann")
		}
		if got := b.version(5); got != 7 {
			t.Errorf("version %d, want 7", got)
		}
	})
	t.Run("without", func(t *testing.T) {
		var b markBox
		b.bySQL(5, 0, nil, noon)
		if !b.soldOut(5, []byte("ann"), 1, noon) {
			t.Error("nobody is refused")
		}
		if got := b.version(5); got != 0 {
			t.Errorf("version %d: the filter would not tell its buyers", got)
		}
	})
	t.Run("of an epoch that is over", func(t *testing.T) {
		var b markBox
		b.observe(6, reply(lua.SoldOut, 0, 1, set("ann")), noon)
		b.bySQL(5, 0, nil, noon)
		if !b.soldOut(6, []byte("u"), 1, noon) {
			t.Error("it replaced the mark of the next epoch")
		}
	})
	t.Run("and the filter has units", func(t *testing.T) {
		var b markBox
		b.bySQL(5, 0, &lua.View{Epoch: 5, Version: 7}, noon)
		b.observe(5, reply(lua.Again, 3, 7, nil), noon)
		if b.soldOut(5, []byte("u"), 1, noon) {
			t.Error("it holds against the filter's word that units are there")
		}
	})
	t.Run("then the filter from before", func(t *testing.T) {
		var b markBox
		b.bySQL(5, 0, &lua.View{Epoch: 5, Version: 7}, noon)
		b.observe(5, reply(lua.Admitted, 1, 6, nil), noon)
		if !b.soldOut(5, []byte("u"), 1, noon) {
			t.Error("a reply from before dropped it")
		}
	})
}
