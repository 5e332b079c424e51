/**
 * What a browser must not forget when its page is reloaded in the middle of a
 * purchase: the key that was sent, and the orders that came of it.
 */
import { HOME } from './wire.js';

/** Orders remembered per user and item; the oldest is forgotten first. */
const ORDERS = 20;

/**
 * @typedef {object} Pending
 * @property {string} biz_id
 * @property {number} qty
 * @property {boolean} unsure a request with this key may have bought something that nobody was told of
 */

/** Keeps keys and order numbers by user and item, so that one buyer never repeats another's. */
export class Ledger {
  #storage;

  /** @param {Pick<Storage, 'getItem'|'setItem'|'removeItem'>} [storage] */
  constructor(storage = persistent()) {
    this.#storage = storage;
  }

  /** The key that is waiting for its answer, or null. @returns {Pending | null} */
  pending(user, item) {
    const p = this.#read('key', user, item);
    return typeof p?.biz_id === 'string' && Number.isInteger(p.qty) ? p : null;
  }

  /** Keeps a key. To be called before anything is sent with it. */
  keep(user, item, { biz_id, qty, unsure }) {
    this.#write('key', user, item, { biz_id, qty, unsure });
  }

  /** Forgets the key, since its outcome is known; keeps the order's number if there is one. */
  settle(user, item, biz_id, orderId) {
    if (orderId) {
      const others = this.orders(user, item).filter((id) => id !== orderId);
      this.#write('orders', user, item, [...others, orderId].slice(-ORDERS));
    }
    // Another tab may have begun the next purchase meanwhile.
    if (this.pending(user, item)?.biz_id === biz_id) this.#storage.removeItem(name('key', user, item));
  }

  /** Numbers of the orders this browser saw being made, oldest first. @returns {string[]} */
  orders(user, item) {
    const ids = this.#read('orders', user, item);
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  }

  #read(kind, user, item) {
    try {
      return JSON.parse(this.#storage.getItem(name(kind, user, item)));
    } catch {
      return null; // not ours
    }
  }

  #write(kind, user, item, value) {
    try {
      this.#storage.setItem(name(kind, user, item), JSON.stringify(value));
    } catch {
      // Full. The purchase goes on; a reload in the middle of it would begin anew.
    }
  }
}

function name(kind, user, item) {
  return `rushgate:${kind}:${JSON.stringify([HOME.pathname, user, item])}`;
}

/** The browser's storage, or this page's memory where the browser denies it. */
function persistent() {
  try {
    const probe = 'rushgate:probe';
    localStorage.setItem(probe, '');
    localStorage.removeItem(probe);
    return localStorage;
  } catch {
    const map = new Map();
    return {
      getItem: (key) => map.get(key) ?? null,
      setItem: (key, value) => map.set(key, value),
      removeItem: (key) => map.delete(key),
    };
  }
}
