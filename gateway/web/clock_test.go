package web

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// wire scripts a network and two clocks: each sample is a way up, the
// server's work and a way down, in milliseconds, and nothing else takes time.
// After the last of them each is as rest says, or lost.
// ahead is how far the server's clock is from the local one.
const wire = `
  const { ServerClock } = await m('rushgate');
  let local = 5000, ahead = 1_900_000_000_000, legs = %s, rest = null;
  const fetch = async () => {
    const leg = legs.shift() ?? rest;
    if (!leg) throw new TypeError('offline');
    const [up, work, down] = leg;
    local += up;
    const t1 = local + ahead;
    local += work;
    const t2 = local + ahead;
    local += down;
    return new Response(JSON.stringify({ now: Math.floor(t2), t1: t1 * 1000, t2: t2 * 1000, source: 'redis' }));
  };
  const clock = new ServerClock({ fetch, now: () => local, spacing: 0, random: () => 0 });
  const state = () => ({ Off: clock.now() - local - ahead, Error: clock.error, Synced: clock.synced, Source: clock.source });
`

// reading is what a clock says against the truth that only the script knows.
type reading struct {
	Off    float64 // how far now() is from the server's clock, ms
	Error  float64 // what the clock says of that, ms
	Synced bool
	Source string
}

// The sample of the least round trip decides, wherever it comes in the row;
// what the server took to answer is no part of the round trip.
func TestLeastRoundTripWins(t *testing.T) {
	tab := blank(t, newStub(t, ""))
	for name, legs := range map[string]string{
		"first":                 `[[1, 0, 2], [300, 0, 4], [4, 0, 300]]`,
		"in the middle":         `[[250, 0, 4], [1, 0, 2], [4, 0, 300]]`,
		"last":                  `[[250, 0, 4], [4, 0, 300], [1, 0, 2]]`,
		"after a slow server":   `[[40, 0, 40], [1, 9000, 2]]`,
		"one answer among lost": `[null, [1, 0, 2], null]`,
	} {
		t.Run(name, func(t *testing.T) {
			got := js[reading](t, tab, fmt.Sprintf(wire, legs)+`await clock.sync(legs.length); return state();`)
			// Half of the ways' difference is what no clock can know.
			if math.Abs(got.Off - -0.5) > 0.01 || got.Source != "redis" {
				t.Errorf("%+v, want it off by (1 - 2) / 2 ms", got)
			}
			if got.Error < 1.5 || got.Error > 1.5+1 {
				t.Errorf("it says ±%v ms, want half of 3 and a little drift", got.Error)
			}
		})
	}
}

// The truth is always within the error, also at the extremes of asymmetry.
func TestErrorBoundsTheTruth(t *testing.T) {
	tab := blank(t, newStub(t, ""))
	for _, legs := range []string{`[[0, 0, 0]]`, `[[800, 0, 0]]`, `[[0, 0, 800]]`, `[[400, 3000, 0]]`, `[[5, 1, 7], [600, 0, 1]]`} {
		got := js[reading](t, tab, fmt.Sprintf(wire, legs)+`await clock.sync(legs.length); return state();`)
		if math.Abs(got.Off) > got.Error+0.01 {
			t.Errorf("%s: off by %v ms, said to be within %v", legs, got.Off, got.Error)
		}
	}
}

// Before the first answer there is no time, and nothing compares as begun.
func TestNoTimeBeforeTheFirstAnswer(t *testing.T) {
	got := js[[]bool](t, blank(t, newStub(t, "")), fmt.Sprintf(wire, `[]`)+`
	  await clock.sync(2);
	  return [clock.synced, Number.isNaN(clock.now()), clock.now() >= 0, clock.error === Infinity];`)
	if want := []bool{false, true, false, true}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("synced, NaN, begun, error infinite = %v, want %v", got, want)
	}
}

// A later and slower sample doesn't spoil a good one, unless both can't be
// true: then the local clock stood still, as some do in sleep.
func TestSlowerSampleReplacesOnlyAContradiction(t *testing.T) {
	tab := blank(t, newStub(t, ""))
	for name, c := range map[string]struct {
		jump int     // the server's clock runs on by so much while the local one stands
		off  float64 // then
	}{
		"agreement":     {0, -0.5},
		"after a sleep": {60_000, -5},
		"server set":    {-60_000, -5},
	} {
		t.Run(name, func(t *testing.T) {
			got := js[reading](t, tab, fmt.Sprintf(wire, `[[1, 0, 2], [20, 0, 30]]`)+fmt.Sprintf(`
			  await clock.sync(1);
			  ahead += %d;
			  await clock.sync(1);
			  return state();`, c.jump))
			if math.Abs(got.Off-c.off) > 0.01 {
				t.Errorf("off by %v ms, want %v", got.Off, c.off)
			}
		})
	}
}

// Whatever shows that the device slept or changed its network makes the clock
// ask anew, and believe the first answer however slow it is.
func TestClockAsksAnewAfterSleep(t *testing.T) {
	tab := blank(t, newStub(t, ""))
	for name, event := range map[string]string{
		"shown again":       `document.dispatchEvent(new Event('visibilitychange'))`,
		"back on line":      `dispatchEvent(new Event('online'))`,
		"from the cache":    `dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`,
		"a gap in its tick": `local += 6000`,
		"another answer":    `clock.witness(clock.now() + 60_000, local, local)`,
	} {
		t.Run(name, func(t *testing.T) {
			// The second sample is worse and consistent with the first: only
			// doubt lets it in.
			off := js[float64](t, tab, fmt.Sprintf(wire, `[[1, 0, 2]]`)+`
			  clock.start();
			  await clock.ready;
			  rest = [200, 0, 100];
			  const synced = new Promise((done) => clock.addEventListener('sync', done));
			  `+event+`;
			  await synced;
			  clock.stop();
			  return state().Off;`)
			if math.Abs(off-50) > 0.01 {
				t.Errorf("off by %v ms, want (200 - 100) / 2", off)
			}
		})
	}
}

// A server that can't be reached at first is asked again.
func TestClockComesUpAfterTheServer(t *testing.T) {
	got := js[reading](t, blank(t, newStub(t, "")), fmt.Sprintf(wire, `[]`)+`
	  clock.start();
	  await clock.sync(1);
	  rest = [1, 0, 2];
	  await clock.ready;
	  clock.stop();
	  return state();`)
	if !got.Synced || math.Abs(got.Off - -0.5) > 0.01 {
		t.Errorf("%+v", got)
	}
}

// An answer a little older than the clock is no contradiction.
func TestWitnessAllowsForAnOldAnswer(t *testing.T) {
	asked := js[int](t, blank(t, newStub(t, "")), fmt.Sprintf(wire, `[[1, 0, 2]]`)+`
	  let asked = 0;
	  const counting = new ServerClock({ fetch: (...a) => { asked++; return fetch(...a); }, now: () => local, samples: 1, random: () => 0 });
	  counting.start();
	  await counting.ready;
	  rest = [1, 0, 2];
	  counting.witness(counting.now() - 1000, local, local);
	  counting.witness(NaN, local, local);
	  // A doubt would have been followed up by the time of this later one's answer.
	  const synced = new Promise((done) => counting.addEventListener('sync', done));
	  const before = asked;
	  dispatchEvent(new Event('online'));
	  await synced;
	  counting.stop();
	  return asked - before;`)
	if asked != 1 {
		t.Errorf("%d samples before the first answer, want 1", asked)
	}
}

// Over a real connection with samples of very different delays, the truth is
// within what the clock says of itself.
func TestClockOverARealConnection(t *testing.T) {
	s := newStub(t, "")
	s.skew = -time.Hour
	s.delay = func(n int, sent bool) {
		// The first is slow on the way down, the second on the way up, the
		// third in neither.
		if n == 0 && sent || n == 1 && !sent {
			time.Sleep(200 * time.Millisecond)
		}
	}
	type seen struct{ Low, High, Error float64 }
	got := js[seen](t, blank(t, s), `
	  const { ServerClock } = await m('rushgate');
	  const clock = new ServerClock({ spacing: 1 });
	  await clock.sync(4);
	  const before = clock.now();
	  const { t1, t2 } = await (await fetch('/time')).json();
	  const after = clock.now();
	  return { Low: t1 / 1000 - before, High: after - t2 / 1000, Error: clock.error };`)
	// The server's stamps were taken after "before" and before "after".
	if got.Low < -got.Error || got.High < -got.Error {
		t.Errorf("the clock is outside its own error: %+v", got)
	}
	for n := range 4 {
		if got := <-s.times; got != n {
			t.Errorf("sample %d was answered as %d", n, got)
		}
	}
}
