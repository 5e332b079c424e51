/** One purchase, asked as often as it takes, made at most once. */
import { bizId } from './bizid.js';
import { Ledger } from './ledger.js';
import { backoff, judge, settles } from './verdict.js';
import { call, HOME, PATIENCE, pause } from './wire.js';

/** Polls of one place in the queue. With a second or more between two, well over the life of any queue. */
const POLLS = 600;

/** The least time between two polls, in milliseconds, whatever the server says. */
const POLL_EVERY = 500;

/**
 * How a purchase ended.
 *
 * - order: `order` is the server's order
 * - refused: a definite no; `code` says why
 * - failed: definitely not done, and asking again may help
 * - unknown: it may have been done. Only asking again with the same key tells,
 *   which buy() with the same item and user does
 *
 * @typedef {object} Outcome
 * @property {'order'|'refused'|'failed'|'unknown'} kind
 * @property {string} bizId
 * @property {any} [order]
 * @property {string} [code] of the last answer; 'no_answer' where none came
 * @property {number} [status] of the last answer
 * @property {any} [problem] body of the last answer
 */

/**
 * @typedef {object} Options
 * @property {number} [qty]
 * @property {string} [user] who buys; keeps the keys of two buyers in one browser apart, and is not sent
 * @property {Record<string, string>} [headers] sent with every request
 * @property {import('./clock.js').ServerClock} [clock] for the wait until the start
 * @property {Ledger} [ledger]
 * @property {number} [attempts] requests at most
 * @property {number} [patience] for one answer, in milliseconds
 * @property {number} [longestWait] between two requests, in milliseconds; told to wait longer, it ends
 * @property {(p: Progress) => void} [progress]
 * @property {AbortSignal} [signal] gives up waiting; run() then rejects, and the key is kept
 * @property {typeof fetch} [fetch]
 * @property {() => number} [random]
 */

/**
 * @typedef {object} Progress
 * @property {'asking'|'waiting'|'queued'} phase
 * @property {number} [attempt] from 1
 * @property {string} [code] why it waits
 * @property {number} [position] in the queue
 * @property {number} [eta] of the queue, in milliseconds
 */

/** A purchase of one item by one user. Takes up a key that an earlier page left waiting. */
export class Purchase {
  #item;
  #options;
  #bizId;
  #qty;
  #sent; // the key was sent before: every further request says so
  #unsure; // some request's outcome was never told

  /**
   * @param {string} item
   * @param {Options} [options]
   */
  constructor(item, options = {}) {
    this.#item = String(item);
    this.#options = { qty: 1, user: '', headers: {}, attempts: 8, patience: PATIENCE, longestWait: 120_000, random: Math.random, ...options };
    this.#options.ledger ??= new Ledger();
    const left = this.#options.ledger.pending(this.#options.user, this.#item);
    // A key that surely bought nothing is not tied to its quantity.
    const taken = left && (left.unsure || left.qty === this.#options.qty) ? left : null;
    this.#bizId = taken?.biz_id ?? bizId(this.#options.clock?.now());
    this.#qty = taken?.qty ?? this.#options.qty;
    this.#sent = taken !== null;
    this.#unsure = taken?.unsure ?? false;
  }

  /** The Idempotency-Key. */
  get bizId() {
    return this.#bizId;
  }

  /**
   * Asks until there is an answer or the attempts are used up; to be called
   * once. Rejects only with the reason of the caller's signal.
   *
   * @returns {Promise<Outcome>}
   */
  async run() {
    let answer = null;
    for (let attempt = 0; attempt < this.#options.attempts; attempt++) {
      if (attempt > 0 && !(await this.#waitFor(answer, attempt - 1))) break;
      this.#tell({ phase: 'asking', attempt: attempt + 1 });
      answer = await this.#send();
      const end = await this.#conclude(answer);
      if (end) return end;
    }
    return this.#outcome(this.#unsure ? 'unknown' : 'failed', answer);
  }

  /** The outcome an answer amounts to, or null: ask again. */
  async #conclude(answer) {
    switch (judge(answer)) {
      case 'order':
        return this.#settled('order', answer);
      case 'refused':
        return this.#refused(answer);
      case 'queued':
        return this.#follow(answer);
      case 'unknown':
        this.#unsure = true;
        return null;
      default: // later, wait
        this.#note(this.#unsure);
        return null;
    }
  }

  async #send() {
    const headers = { ...this.#options.headers, 'Idempotency-Key': `"${this.#bizId}"` };
    // A browser sends a request anew by itself when a connection it kept is
    // closed under it. No page can mark that copy, or learn of it; its key is
    // all that the server has to know it by.
    if (this.#sent) headers['Rushgate-Retry'] = '1';
    // Noted before it leaves: if the page is gone before the answer comes, the
    // next one repeats this key instead of buying again.
    this.#note(true);
    this.#sent = true;
    return this.#call(`seckill/${encodeURIComponent(this.#item)}`, { method: 'POST', headers, json: { qty: this.#qty } });
  }

  /** Polls a place in the queue. Null: the queue was lost, ask again with the key. */
  async #follow(answer) {
    this.#unsure = true; // an answer is promised, but not told yet
    const place = ownPath(answer.location) ?? `orders?biz_id=${encodeURIComponent(this.#bizId)}`;
    let wait = answer;
    for (let poll = 0; poll < POLLS; poll++) {
      this.#tell({ phase: 'queued', position: wait?.body?.position, eta: wait?.body?.eta_ms });
      const floor = Math.max(POLL_EVERY, Math.min(wait?.retryAfter ?? 0, this.#options.longestWait));
      await pause(floor + backoff(0, this.#options.random), this.#options.signal);
      const now = await this.#call(place, { headers: this.#options.headers });
      if (now?.status === 404) return null;
      const verdict = judge(now);
      if (verdict === 'order') return this.#settled('order', now);
      if (verdict === 'refused') return this.#refused(now);
      wait = now;
    }
    return this.#outcome('unknown', { ...wait, code: 'queued' });
  }

  /** A no to this request; unless it also answers for the earlier ones, those stay unknown. */
  #refused(answer) {
    if (this.#unsure && !settles(answer.code)) return this.#outcome('unknown', answer);
    return this.#settled('refused', answer);
  }

  #settled(kind, answer) {
    const { ledger, user } = this.#options;
    ledger.settle(user, this.#item, this.#bizId, kind === 'order' ? answer.body.order_id : undefined);
    return this.#outcome(kind, answer);
  }

  /** Waits as the answer asks; false where that is longer than anyone would stay. */
  async #waitFor(answer, attempt) {
    const { clock, longestWait, random, signal } = this.#options;
    const asked = Math.max(answer?.retryAfter ?? 0, untilStart(answer, clock));
    if (asked > longestWait) return false;
    this.#tell({ phase: 'waiting', code: codeOf(answer), attempt: attempt + 1 });
    // On top of what was asked, so that all who were told the same don't
    // return together.
    await pause(asked + backoff(attempt, random), signal);
    return true;
  }

  async #call(path, options) {
    const { signal, patience, fetch } = this.#options;
    try {
      return await call(path, { ...options, signal, patience, fetch });
    } catch {
      signal?.throwIfAborted();
      return null; // lost on the way: nobody here knows what became of it
    }
  }

  #note(unsure) {
    const { ledger, user } = this.#options;
    ledger.keep(user, this.#item, { biz_id: this.#bizId, qty: this.#qty, unsure });
  }

  #outcome(kind, answer) {
    const base = { kind, bizId: this.#bizId, status: answer?.status };
    return kind === 'order' ? { ...base, order: answer.body } : { ...base, code: codeOf(answer), problem: answer?.body };
  }

  #tell(progress) {
    this.#options.progress?.(progress);
  }
}

const running = new Map();

/**
 * Buys an item, or takes up the purchase of it that is waiting for an answer.
 * A second call for the same item and user while the first runs joins it: two
 * clicks are one purchase.
 *
 * @param {string} item
 * @param {Options} [options]
 * @returns {Promise<Outcome>}
 */
export function buy(item, options = {}) {
  const name = JSON.stringify([options.user ?? '', String(item)]);
  if (!running.has(name)) {
    const purchase = new Purchase(item, options);
    running.set(name, purchase.run().finally(() => running.delete(name)));
  }
  return running.get(name);
}

/** Milliseconds until the sale that is said not to have begun, by the server's clock; 0 otherwise. */
function untilStart(answer, clock) {
  if (judge(answer) !== 'wait') return 0;
  const { starts_at, now } = answer.body;
  const left = starts_at - (clock?.synced ? clock.surely() : now);
  return Number.isFinite(left) ? Math.max(0, left) : 0;
}

/** The word for an answer, whoever gave it. */
function codeOf(answer) {
  if (!answer) return 'no_answer';
  return answer.code || `http_${answer.status}`;
}

/** A Location as a path below HOME, or null where it leads elsewhere: keys and identity go nowhere else. */
function ownPath(location) {
  if (!location) return null;
  try {
    const url = new URL(location, HOME);
    return url.origin === HOME.origin ? url.href : null;
  } catch {
    return null;
  }
}
