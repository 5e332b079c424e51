/** What an answer to a purchase means. Pure decisions, no network. */

/**
 * - order: made, or made earlier with the same key
 * - queued: an answer is promised; poll for it
 * - refused: a definite no
 * - later: this request did nothing; ask again with the same key
 * - wait: as later, and the sale has not begun
 * - unknown: it may have been done; ask again with the same key
 *
 * @typedef {'order'|'queued'|'refused'|'later'|'wait'|'unknown'} Verdict
 */

/** Codes that say more than their status does. @type {Record<string, Verdict>} */
const BY_CODE = {
  not_started: 'wait',
  limited: 'later',
  overloaded: 'later',
  draining: 'later',
  paused: 'later',
  request_timeout: 'later',
  in_progress: 'unknown',
  unknown_outcome: 'unknown',
  upstream_failed: 'unknown',
  not_implemented: 'refused',
  http_version_not_supported: 'refused',
  loop_detected: 'refused',
};

/**
 * Refusals that hold for earlier requests with the same key too. The others
 * (unauthenticated, blacklisted, …) only say that this request did nothing.
 */
const SETTLES = new Set(['sold_out', 'duplicate', 'ended', 'order_failed', 'idempotency_mismatch']);

/**
 * @param {import('./wire.js').Answer | null} answer null where none arrived
 * @returns {Verdict}
 */
export function judge(answer) {
  if (!answer) return 'unknown';
  const { status, body, code } = answer;
  if (code && BY_CODE[code]) return BY_CODE[code];
  if (status >= 200 && status < 300) return judgeSuccess(body);
  if (status >= 400 && status < 500) return judgeBare(status);
  return 'unknown'; // something in between spoke, and can't know
}

/** A success counts only if it says of what. */
function judgeSuccess(body) {
  if (body?.state === 'refused') return 'refused';
  if (body?.state === 'queued') return 'queued';
  return typeof body?.order_id === 'string' && body.order_id ? 'order' : 'unknown';
}

function judgeBare(status) {
  return status === 408 || status === 425 || status === 429 ? 'later' : 'refused';
}

/** Whether a refusal answers for everything that was ever sent with its key. */
export function settles(code) {
  return SETTLES.has(code);
}

/**
 * How long to wait before asking again, in milliseconds: anything up to 250 ms,
 * doubled with each attempt, at most 8 s. Drawn from the whole span ("full
 * jitter"), since those who failed together would come back together.
 *
 * @param {number} attempt 0 for the first wait
 * @param {() => number} [random]
 */
export function backoff(attempt, random = Math.random) {
  return random() * Math.min(8000, 250 * 2 ** attempt);
}
