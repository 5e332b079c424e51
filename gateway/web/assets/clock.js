/**
 * The server's clock, kept in the browser.
 *
 * The device's own clock is never read: it may be an hour wrong, and its owner
 * may set it. What passes here is measured on performance.now(), which only
 * runs forward, and the server says what time that is.
 */
import { call, pause } from './wire.js';

/**
 * How fast two clocks part, as a share of the time passed. RFC 5905 section 7.2
 * reckons with 15e-6 for a clock that is kept in order; a phone's quartz is not.
 */
const DRIFT = 100e-6;

/** The watch for sleep ticks this often; a tick that comes after ASLEEP tells of one. Milliseconds. */
const TICK = 1000;
const ASLEEP = 5000;

/** The most that surely() holds back, in milliseconds: on a network worse than that an early click waits instead. */
const CAUTION = 100;

/** How far from the clock a time in some answer may be before it is doubted; a list may be a little old. */
const SLACK = 1500;

/** The least time between two doubts that an answer raises. */
const DOUBT_EVERY = 5000;

/**
 * @typedef {object} Sample
 * @property {number} offset add it to performance.now() and get the server's time
 * @property {number} rtt round trip without the server's own processing
 * @property {number} at performance.now() when the answer came
 */

/**
 * Works a sample out of four times (RFC 5905 section 8): t0 and t3 are sent and
 * received by the local clock, t1 and t2 received and sent by the server's. The
 * server's processing, t2 - t1, counts for nothing, and the offset is off by at
 * most half of what remains.
 *
 * @returns {Sample}
 */
export function sample(t0, t1, t2, t3) {
  return {
    offset: (t1 - t0 + (t2 - t3)) / 2,
    rtt: Math.max(0, t3 - t0 - (t2 - t1)),
    at: t3,
  };
}

/** How wrong a sample may be at a moment of the local clock, in milliseconds. */
export function bound(s, now) {
  return s.rtt / 2 + DRIFT * Math.max(0, now - s.at);
}

/**
 * Says whether a fresh sample takes the place of the one that is kept: where it
 * is at least as sure, or where both can't be true (the local clock stood still
 * during sleep, or the server's was set).
 */
export function replaces(fresh, kept) {
  if (!kept) return true;
  const mine = bound(fresh, fresh.at);
  const theirs = bound(kept, fresh.at);
  return mine <= theirs || Math.abs(fresh.offset - kept.offset) > mine + theirs;
}

/**
 * Tells the server's time.
 *
 * Fires 'sync' whenever what it knows has changed. Until the first answer,
 * now() is NaN and every comparison with it is false: nothing opens on a guess.
 *
 * now() may be ahead of the server by its error, where the kept sample went up
 * slower than it came down. Whatever must not come too early goes by surely().
 */
export class ServerClock extends EventTarget {
  #options;
  #kept = null;
  #era = 0; // raised when all that was measured before is in doubt
  #doubted = false;
  #waking = false;
  #doubtedAt = -Infinity;
  #timers = new Set();
  #listeners = new AbortController();
  #source = '';
  #becomeReady;

  /** Resolves at the first answer of the server. @type {Promise<void>} */
  ready = new Promise((resolve) => {
    this.#becomeReady = resolve;
  });

  /**
   * @param {object} [options]
   * @param {string} [options.path] of the time service, relative to Rushgate's paths
   * @param {number} [options.samples] taken at the start
   * @param {number} [options.resamples] taken at each later sync
   * @param {number} [options.spacing] between two samples, in milliseconds
   * @param {number} [options.every] between two syncs, in milliseconds
   * @param {typeof fetch} [options.fetch]
   * @param {() => number} [options.now] a clock that only runs forward, in milliseconds
   * @param {() => number} [options.random]
   */
  constructor(options = {}) {
    super();
    this.#options = {
      path: 'time',
      samples: 5,
      resamples: 3,
      spacing: 200,
      every: 30_000,
      fetch: globalThis.fetch.bind(globalThis),
      now: () => performance.now(),
      random: Math.random,
      ...options,
    };
  }

  /** The server's time in Unix milliseconds, with fractions; NaN before the first answer. */
  now() {
    return this.#kept ? this.#options.now() + this.#kept.offset : NaN;
  }

  /** The latest time that has surely come for the server too: now() less its error. NaN before the first answer. */
  surely() {
    return this.now() - Math.min(this.error, CAUTION);
  }

  /** How far now() may be from the truth: half the round trip, and drift since. Infinity before the first answer. */
  get error() {
    return this.#kept ? bound(this.#kept, this.#options.now()) : Infinity;
  }

  /** Whether the server has answered once. */
  get synced() {
    return this.#kept !== null;
  }

  /** What the server's clock follows: 'redis', 'local', or '' before the first answer. */
  get source() {
    return this.#source;
  }

  /** Starts sampling and goes on until stop(). Returns the clock. */
  start() {
    const signal = this.#listeners.signal;
    const wake = () => this.#wake();
    addEventListener('online', wake, { signal });
    addEventListener('pageshow', (event) => event.persisted && wake(), { signal });
    document.addEventListener('visibilitychange', () => document.hidden || wake(), { signal });
    this.#watchForSleep(this.#options.now());
    this.#round(this.#options.samples);
    return this;
  }

  /** Ends sampling. now() goes on from the last sample. A stopped clock can't be started again. */
  stop() {
    this.#era++;
    this.#listeners.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  /**
   * Takes samples now; start() does so by itself. Resolves to how many answers
   * came.
   *
   * @param {number} [samples]
   */
  async sync(samples = this.#options.resamples) {
    const era = this.#era;
    let answers = 0;
    for (let i = 0; i < samples && era === this.#era; i++) {
      // Spaced, so that one busy moment doesn't spoil all.
      if (i > 0) await pause(this.#options.spacing * (0.5 + this.#options.random()));
      if (await this.#ask(era)) answers++;
    }
    return answers;
  }

  /**
   * Hears the server's time in some other answer, seen between t0 and t3 of
   * performance.now(). It is too coarse to set the clock by, but a contradiction
   * shows a sleep that nothing else showed.
   */
  witness(now, t0, t3) {
    if (!this.#kept || !Number.isFinite(now)) return;
    const early = t0 + this.#kept.offset - this.error - SLACK;
    const late = t3 + this.#kept.offset + this.error + SLACK;
    if ((now < early || now > late) && t3 - this.#doubtedAt > DOUBT_EVERY) {
      this.#doubtedAt = t3;
      this.#wake();
    }
  }

  async #ask(era) {
    const { path, fetch, now } = this.#options;
    let t0 = now();
    let t3 = NaN;
    // The answer's head is what is timed; the body may come a little later.
    const timed = async (url, init) => {
      t0 = now();
      const response = await fetch(url, init);
      t3 = now();
      return response;
    };
    try {
      const { status, body } = await call(path, { patience: 3000, fetch: timed });
      if (status !== 200 || !Number.isFinite(body?.t1) || !Number.isFinite(body?.t2)) return false;
      if (era === this.#era) this.#keep(sample(t0, body.t1 / 1000, body.t2 / 1000, t3), String(body.source ?? ''));
      return true;
    } catch {
      return false; // the next round asks again
    }
  }

  #keep(fresh, source) {
    if (!this.#doubted && !replaces(fresh, this.#kept)) return;
    this.#doubted = false;
    this.#kept = fresh;
    this.#source = source;
    this.#becomeReady();
    this.dispatchEvent(new Event('sync'));
  }

  /** One sync, and the plan for the next. */
  async #round(samples, failures = 0) {
    const era = this.#era;
    const failed = (await this.sync(samples)) === 0;
    if (era !== this.#era) return; // a later round has taken over
    const { every, resamples, random } = this.#options;
    const wait = failed ? Math.min(every, 1000 * 2 ** failures) : every;
    // Jitter keeps the pages that one start brought together from asking together.
    this.#after(wait * (0.8 + 0.4 * random()), () => {
      if (era === this.#era) this.#round(resamples, failed ? failures + 1 : 0);
    });
  }

  /**
   * Puts all that was measured in doubt: the next answer replaces it however
   * long it took. Several events tell of one awakening; the first is followed
   * up, a moment later.
   */
  #wake() {
    if (this.#waking) return;
    this.#waking = true;
    this.#after(50, () => {
      this.#waking = false;
      this.#doubted = true;
      this.#era++;
      this.#round(this.#options.resamples);
    });
  }

  #watchForSleep(last) {
    this.#after(TICK, () => {
      const now = this.#options.now();
      // Timers of a hidden page are slowed on purpose, which is no sleep; it
      // asks anew when it is shown.
      if (now - last > ASLEEP && !document.hidden) this.#wake();
      this.#watchForSleep(now);
    });
  }

  #after(ms, run) {
    if (this.#listeners.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }
}
