/**
 * One HTTP call, bounded in time, and the little that every caller needs to
 * know of its answer.
 */

/**
 * Where Rushgate's own paths begin: one folder above the modules, so that a
 * prefix needs no setting.
 */
export const HOME = new URL('../', import.meta.url);

/** How long one call may take before it counts as lost. The gateway gives up earlier. */
export const PATIENCE = 10_000;

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} body the JSON, or null where the body is none
 * @property {string} code the problem's stable word, '' where there is none
 * @property {number} retryAfter milliseconds the server asks to wait, 0 where it doesn't
 * @property {string} location '' where there is none
 */

/**
 * Sends one request to a path of Rushgate's.
 *
 * Rejects where no whole answer arrived (the outcome is then unknown) and with
 * the signal's reason where the caller gave up; every answer resolves, whatever
 * its status.
 *
 * @param {string} path relative to HOME, without a leading slash
 * @param {object} [options]
 * @param {string} [options.method]
 * @param {Record<string, string>} [options.headers]
 * @param {any} [options.json] sent as the body
 * @param {AbortSignal} [options.signal]
 * @param {number} [options.patience] milliseconds
 * @param {typeof fetch} [options.fetch]
 * @returns {Promise<Answer>}
 */
export async function call(path, { method = 'GET', headers = {}, json, signal, patience = PATIENCE, fetch = globalThis.fetch } = {}) {
  const send = { ...headers };
  if (json !== undefined) send['Content-Type'] = 'application/json';
  return within(patience, signal, async (bound) => {
    const response = await fetch(new URL(path, HOME), {
      method,
      headers: send,
      body: json === undefined ? undefined : JSON.stringify(json),
      cache: 'no-store',
      signal: bound,
    });
    // Read to the end before anything is believed: a success whose body was
    // cut off is no success yet.
    const text = await response.text();
    return answer(response, parse(text));
  });
}

function answer(response, body) {
  return {
    status: response.status,
    body,
    code: typeof body?.code === 'string' ? body.code : '',
    retryAfter: retryAfter(response.headers.get('Retry-After'), body),
    location: response.headers.get('Location') ?? '',
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a proxy's error page, a captive portal
  }
}

/**
 * The finer of what the server says. A Retry-After that is a date is passed
 * over: it could only be compared with the device's clock.
 */
function retryAfter(header, body) {
  const fine = body?.retry_after_ms;
  if (Number.isFinite(fine) && fine >= 0) return fine;
  return /^\d{1,9}$/.test(header ?? '') ? Number(header) * 1000 : 0;
}

/** Runs a task under a signal that fires after ms, or when the outer one does. */
async function within(ms, outer, run) {
  outer?.throwIfAborted();
  const bound = new AbortController();
  const relay = () => bound.abort(outer.reason);
  const timer = setTimeout(() => bound.abort(new DOMException(`no answer within ${ms} ms`, 'TimeoutError')), ms);
  outer?.addEventListener('abort', relay);
  try {
    return await run(bound.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', relay);
  }
}

/**
 * Resolves after ms, or rejects with the signal's reason.
 *
 * @param {number} ms
 * @param {AbortSignal} [signal]
 */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, Math.ceil(ms)); // browsers drop a fraction, and would come back early
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
