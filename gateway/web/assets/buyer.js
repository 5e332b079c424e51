/**
 * The demo's buyer: a name this browser made up. It works because the gateway
 * trusts its own machine to say who buys; in a real shop the proxy in front
 * says so, and this header is dropped.
 */
import { recall, remember } from './memory.js';

/** Fires 'change'. */
export class Buyer extends EventTarget {
  #id = recall('buyer') ?? invent();

  constructor() {
    super();
    remember('buyer', this.#id);
  }

  get id() {
    return this.#id;
  }

  /** What a request of this buyer's carries. */
  get headers() {
    return { 'X-User-Id': this.#id };
  }

  /** Becomes somebody else. */
  change() {
    this.#id = invent();
    remember('buyer', this.#id);
    this.dispatchEvent(new Event('change'));
  }
}

function invent() {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return `demo-${Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')}`;
}
