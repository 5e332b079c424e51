/** A countdown that can't drift: each tick asks the server's clock anew. */

/** Seconds before the end at which a screen reader is told; every second would drown all else. */
const SAID = [600, 300, 60, 30, 10];

/**
 * Writes a span as a clock does: "2d 03:04:05", "03:04:05" or "04:05". Rounds
 * up, so that 00:00 is shown when it is over and not a second before.
 *
 * @param {number} ms
 * @param {string} [day] what stands behind the number of days
 */
export function clockFace(ms, day = 'd') {
  const total = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  const days = Math.floor(total / 86400);
  const hours = Math.floor(total / 3600) % 24;
  const rest = `${two(Math.floor(total / 60) % 60)}:${two(total % 60)}`;
  if (days > 0) return `${days}${day} ${two(hours)}:${rest}`;
  return hours > 0 ? `${two(hours)}:${rest}` : rest;
}

/**
 * Counts down to a moment of the server's clock inside an element.
 *
 * The element becomes a timer that screen readers don't interrupt for;
 * milestones are said in the element given as `say`, politely.
 *
 * @param {Element} el
 * @param {import('./clock.js').ServerClock} clock
 * @param {number} at Unix milliseconds
 * @param {object} [options]
 * @param {(ms: number) => string} [options.format] of the time left
 * @param {Element} [options.say] a second element, made polite, which gets the milestones
 * @param {(ms: number) => string} [options.sentence] of a milestone
 * @param {() => void} [options.reached] called once, when the server's clock says so
 * @returns {() => void} stops it; safe to call at any time, and again
 */
export function countdown(el, clock, at, { format = clockFace, say, sentence = format, reached } = {}) {
  let timer;
  let said = Infinity; // none at the first tick: the page itself has just been read
  el.setAttribute('role', 'timer');
  el.setAttribute('aria-live', 'off');
  say?.setAttribute('aria-live', 'polite');

  const stop = () => {
    clearTimeout(timer);
    clock.removeEventListener('sync', tick);
    document.removeEventListener('visibilitychange', tick);
  };

  function tick() {
    clearTimeout(timer);
    const left = at - clock.surely();
    if (Number.isNaN(left)) return; // 'sync' brings it to life
    show(el, format(Math.max(0, left)));
    if (left <= 0) {
      stop();
      reached?.();
      return;
    }
    if (say && passed(left) > said) show(say, sentence(SAID[passed(left) - 1] * 1000));
    said = passed(left);
    // To the next change of the last digit; never longer, since a new sample
    // of the clock may have moved the end.
    timer = setTimeout(tick, left % 1000 || 1000);
  }

  clock.addEventListener('sync', tick);
  document.addEventListener('visibilitychange', tick);
  tick();
  return stop;
}

/** How many milestones are behind. */
function passed(left) {
  return SAID.filter((s) => left <= s * 1000).length;
}

function show(el, text) {
  if (el.textContent !== text) el.textContent = text;
}
