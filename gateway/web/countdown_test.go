package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hand is a clock that is set by hand.
const hand = `
  const { countdown, clockFace } = await m('rushgate');
  class Hand extends EventTarget {
    t = 0;
    surely() { return this.t; }
    set(t) { this.t = t; this.dispatchEvent(new Event('sync')); }
  }
  const clock = new Hand();
  const [a, b] = [document.querySelector('#a'), document.querySelector('#b')];
  a.textContent = b.textContent = '';
`

func TestClockFace(t *testing.T) {
	got := js[[]string](t, blank(t, newStub(t, "")), hand+`
	  return [-5, 0, 1, 1000, 1001, 59_999, 60_001, 3_599_001, 3_600_000, 86_399_001, 86_400_000, 266_645_000].map((ms) => clockFace(ms));`)
	want := []string{"00:00", "00:00", "00:01", "00:01", "00:02", "01:00", "01:01", "01:00:00", "01:00:00", "1d 00:00:00", "1d 00:00:00", "3d 02:04:05"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each tick asks the clock anew: a jump of any size is shown at once, and the
// end is told once, when the clock says so.
func TestCountdownFollowsTheClock(t *testing.T) {
	got := js[[]string](t, blank(t, newStub(t, "")), hand+`
	  const seen = [];
	  const look = () => seen.push(a.textContent + '/' + ends);
	  let ends = 0;
	  clock.t = NaN;
	  countdown(a, clock, 100_000, { reached: () => ends++ });
	  look();
	  for (const t of [10_000, 70_500, 65_000, 99_999, 100_000, 50_000]) { clock.set(t); look(); }
	  return seen;`)
	want := []string{"/0", "01:30/0", "00:30/0", "00:35/0", "00:01/0", "00:00/1", "00:00/1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// It ticks by itself, and a stopped one doesn't.
func TestCountdownTicks(t *testing.T) {
	got := js[[]bool](t, blank(t, newStub(t, "")), hand+`
	  clock.surely = () => performance.now();
	  let stopped = true;
	  countdown(b, clock, performance.now() + 300, { reached: () => { stopped = false; } })();
	  await new Promise((reached) => countdown(a, clock, performance.now() + 400, { reached }));
	  return [a.textContent === '00:00', stopped];`)
	if !got[0] || !got[1] {
		t.Errorf("ran to the end, stopped one stayed = %v", got)
	}
}

// A screen reader is told of milestones, politely, and not of every second.
func TestCountdownSaysMilestones(t *testing.T) {
	type voice struct {
		Said   []string
		Roles  []string
		Silent bool
	}
	got := js[voice](t, blank(t, newStub(t, "")), hand+`
	  const Said = [];
	  clock.t = 0;
	  countdown(a, clock, 700_000, { say: b, sentence: (ms) => 'in ' + ms / 1000 });
	  const Silent = b.textContent === '';
	  for (let t = 0; t <= 700_000; t += 500) {
	    clock.set(t);
	    if (b.textContent && b.textContent !== Said.at(-1)) Said.push(b.textContent);
	  }
	  return { Said, Silent, Roles: [a.getAttribute('role'), a.getAttribute('aria-live'), b.getAttribute('aria-live')] };`)
	want := voice{[]string{"in 600", "in 300", "in 60", "in 30", "in 10"}, []string{"timer", "off", "polite"}, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
