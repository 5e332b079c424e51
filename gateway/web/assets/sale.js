/** The sale page: wires the clock, the list, the buyer and the words together. */
import { Buyer } from './buyer.js';
import { Card } from './card.js';
import { setText } from './dom.js';
import { ServerClock } from './clock.js';
import { Ledger } from './ledger.js';
import { Words } from './words.js';
import { call } from './wire.js';

/** Between two looks at the list, in milliseconds, and the most after failures. */
const REFRESH = 3000;
const REFRESH_SLOWEST = 15_000;

/** A look that something asked for comes within this, at random: all pages reach a start together. */
const SOON = 600;

class Page {
  #clock = new ServerClock().start();
  #words = new Words();
  #buyer = new Buyer();
  #ledger = new Ledger();
  #cards = new Map();
  #items = null;
  #failures = 0;
  #timer;
  #loading = false;
  #el = Object.fromEntries(Array.from(document.querySelectorAll('[id]'), (el) => [el.id, el]));

  constructor() {
    this.#clock.addEventListener('sync', () => this.#render());
    this.#words.addEventListener('change', () => this.#render());
    this.#buyer.addEventListener('change', () => this.#restart());
    this.#el.language.addEventListener('click', () => this.#words.toggle());
    this.#el.another.addEventListener('click', () => this.#buyer.change());
    document.addEventListener('visibilitychange', () => document.hidden || this.#soon(0));
    this.#render();
    this.#showTime();
    this.#load();
  }

  /** Asks for the list, and again after a while. */
  async #load() {
    if (this.#loading) return;
    this.#loading = true;
    clearTimeout(this.#timer);
    const items = await this.#fetchItems();
    this.#loading = false;
    this.#failures = items ? 0 : this.#failures + 1;
    this.#items = items ?? this.#items;
    this.#arrange();
    this.#render();
    const wait = Math.min(REFRESH_SLOWEST, REFRESH * 2 ** this.#failures);
    this.#timer = setTimeout(() => this.#tick(), wait * (0.8 + 0.4 * Math.random()));
  }

  /** A page that nobody sees asks for nothing. */
  #tick() {
    if (!document.hidden) this.#load();
  }

  #soon(within = SOON) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tick(), within * Math.random());
  }

  async #fetchItems() {
    const sent = performance.now();
    try {
      const { status, body } = await call('items');
      if (status !== 200 || !Array.isArray(body?.items)) return null;
      this.#clock.witness(body.now, sent, performance.now());
      return body.items;
    } catch {
      return null;
    }
  }

  /** Gives every sale its card, in the list's order, and moves none that is in its place. */
  #arrange() {
    const listed = new Map((this.#items ?? []).map((item) => [item.item, item]));
    for (const [id, card] of this.#cards) {
      if (listed.has(id) || card.precious) continue;
      card.remove();
      this.#cards.delete(id);
    }
    let place = this.#el.sales.firstElementChild;
    for (const [id, item] of listed) {
      const card = this.#cards.get(id) ?? this.#open(item);
      card.update(item);
      if (card.element === place) place = place.nextElementSibling;
      else this.#el.sales.insertBefore(card.element, place);
    }
  }

  #open(item) {
    const card = new Card(item, {
      clock: this.#clock,
      words: this.#words,
      buyer: this.#buyer,
      ledger: this.#ledger,
      refresh: () => this.#soon(),
    });
    this.#cards.set(item.item, card);
    return card;
  }

  /** Another buyer sees the same sales with none of the other's orders. */
  #restart() {
    for (const card of this.#cards.values()) card.remove();
    this.#cards.clear();
    this.#arrange();
    this.#render();
  }

  #render() {
    const words = this.#words;
    document.documentElement.lang = words.lang;
    document.title = `${words.say('page.title')} · Rushgate`;
    for (const el of document.querySelectorAll('[data-say]')) setText(el, words.say(el.dataset.say));
    setText(this.#el.buyer, this.#buyer.id);
    const notice = this.#notice();
    setText(this.#el.notice, notice && words.say(notice));
    this.#el.notice.hidden = notice === '';
    this.#el.notice.dataset.notice = notice;
    this.#el.language.lang = words.lang === 'en' ? 'zh-CN' : 'en';
    for (const card of this.#cards.values()) card.render();
  }

  /** What to say of the list as a whole, as a key; '' for nothing. */
  #notice() {
    if (this.#failures > 0) return 'page.stale';
    if (this.#items === null) return 'page.loading';
    return this.#items.length === 0 ? 'page.empty' : '';
  }

  /** The server's time, a second at a time. */
  #showTime() {
    const clock = this.#clock;
    const now = clock.now();
    setText(this.#el.time, clock.synced ? this.#words.time(now) : '--:--:--');
    setText(this.#el.error, clock.synced ? `±${Math.max(1, Math.round(clock.error))} ms` : '');
    setTimeout(() => this.#showTime(), clock.synced ? 1000 - (now % 1000) : 200);
  }
}

new Page();
