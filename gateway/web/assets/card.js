/** One sale on the page: a ticket, its gate, what became of the last try, and the orders made. */
import { clockFace, countdown } from './countdown.js';
import { h, setText } from './dom.js';
import { Stub } from './order.js';
import { phase } from './phase.js';
import { buy } from './purchase.js';
import { call } from './wire.js';

/** Orders that are looked up again when the page is opened, per sale. */
const RECALLED = 5;

/** Quantities offered at most. */
const QUANTITIES = 10;

/**
 * What a card needs of the page around it.
 *
 * @typedef {object} Shop
 * @property {import('./clock.js').ServerClock} clock
 * @property {import('./words.js').Words} words
 * @property {import('./buyer.js').Buyer} buyer
 * @property {import('./ledger.js').Ledger} ledger
 * @property {() => void} refresh asks for the list soon
 */

export class Card {
  #shop;
  #item;
  #user;
  #headers;
  #parts;
  #stubs = new Map();
  #life = new AbortController();
  #busy = false;
  #progress = null;
  #outcome = null;
  #counting = '';
  #stopCounting = () => {};

  /**
   * @param {any} item as the list tells it
   * @param {Shop} shop
   */
  constructor(item, shop) {
    this.#shop = shop;
    this.#item = item;
    this.#user = shop.buyer.id;
    this.#headers = shop.buyer.headers;
    this.#parts = build(item);
    this.#parts.buy.addEventListener('click', () => this.#buy());
    this.#parts.again.addEventListener('click', () => this.#buy());
    this.render();
    this.#recall();
    // A key whose outcome was never told is asked for at once: the page was
    // left in the middle of a purchase.
    if (shop.ledger.pending(this.#user, item.item)?.unsure) this.#buy();
  }

  get element() {
    return this.#parts.root;
  }

  /** Whether it holds something the buyer would miss. */
  get precious() {
    return this.#busy || this.#outcome !== null || this.#stubs.size > 0;
  }

  /** Takes what the list says now. */
  update(item) {
    this.#item = item;
    this.render();
  }

  /** Leaves the page. A purchase in flight keeps its key. */
  remove() {
    this.#life.abort();
    this.#stopCounting();
    for (const stub of this.#stubs.values()) stub.remove();
    this.element.remove();
  }

  /** Shows what is so now; called whenever something may have changed. */
  render() {
    const { clock, words } = this.#shop;
    const now = phase(this.#item, clock.surely());
    this.#describe(now);
    this.#count(now);

    const owned = this.#owned() >= this.#item.per_user;
    const label = this.#label(now, owned);
    const { buy: button, qty, qtyLabel, root } = this.#parts;
    setText(button, words.say(`buy.${label}`));
    button.disabled = label !== 'open';
    button.setAttribute('aria-busy', String(this.#busy));
    root.setAttribute('aria-busy', String(this.#busy));
    // There from the beginning, so that nothing moves under a finger when the
    // sale opens.
    qty.disabled = this.#busy || (label !== 'open' && label !== 'upcoming');
    qtyLabel.hidden = this.#item.per_user < 2;
    this.#tell();
    for (const stub of this.#stubs.values()) stub.render();
  }

  /** What the button says; it can be pressed where that is 'open'. */
  #label(now, owned) {
    if (this.#busy) return 'busy';
    if (this.#outcome?.kind === 'unknown') return 'unknown'; // no second purchase before the first is known
    return owned && now === 'open' ? 'owned' : now;
  }

  #describe(now) {
    const { words } = this.#shop;
    const { root, state, title, price, terms, qty, qtyWord } = this.#parts;
    const item = this.#item;
    root.dataset.phase = now;
    setText(state, words.say(`state.${now}`));
    setText(title, item.title);
    setText(price, words.money(item.price_cents));
    setText(terms, `${words.window(item.starts_at, item.ends_at)} · ${words.say('terms.per_user', { n: item.per_user })}`);
    setText(qtyWord, words.say('terms.qty'));
    offer(qty, Math.min(item.per_user, QUANTITIES));
  }

  /** Counts to the next turn of the sale; starts anew only when that changed. */
  #count(now) {
    const { clock, words, refresh } = this.#shop;
    const { until, count, said } = this.#parts;
    const target = { upcoming: this.#item.starts_at, open: this.#item.ends_at, paused: this.#item.ends_at, sold_out: this.#item.ends_at }[now];
    const counting = `${now} ${target} ${words.lang}`;
    if (counting === this.#counting) return;
    if (now === 'open' && this.#counting.startsWith('upcoming')) setText(said, words.say('say.opened', this.#item));
    this.#counting = counting;
    this.#stopCounting();
    setText(until, words.find(`until.${now}`) ?? '');
    setText(count, '');
    until.hidden = count.hidden = now === 'ended';
    if (target === undefined) return;
    this.#stopCounting = countdown(count, clock, target, {
      format: (ms) => clockFace(ms, words.say('until.day')),
      say: words.find(`say.${now}`) && said,
      sentence: (ms) => words.say(`say.${now}`, { title: this.#item.title, left: clockFace(ms, words.say('until.day')) }),
      reached: () => {
        this.render();
        refresh();
      },
    });
  }

  /** Says how the purchase stands, or how it ended. */
  #tell() {
    const { words } = this.#shop;
    const { word, text, again } = this.#parts;
    const outcome = this.#outcome;
    word.hidden = !this.#busy && !outcome;
    word.dataset.kind = this.#busy ? 'busy' : (outcome?.kind ?? '');
    setText(text, this.#busy ? inProgress(words, this.#progress) : outcome ? atEnd(words, outcome) : '');
    again.hidden = this.#busy || outcome?.kind !== 'unknown';
    setText(again, words.say('buy.again'));
  }

  async #buy() {
    if (this.#busy) return;
    this.#busy = true;
    this.#progress = this.#outcome = null;
    this.render();
    const { clock, ledger } = this.#shop;
    try {
      const end = await buy(this.#item.item, {
        qty: Number(this.#parts.qty.value) || 1,
        user: this.#user,
        headers: this.#headers,
        clock,
        ledger,
        signal: this.#life.signal,
        progress: (p) => {
          this.#progress = p;
          this.render();
        },
      });
      this.#outcome = end;
      if (end.kind === 'order') this.#show(end.order);
    } catch (error) {
      if (!this.#life.signal.aborted) throw error;
      return; // the buyer left; the key waits for them
    } finally {
      this.#busy = false;
    }
    this.render();
    this.#shop.refresh();
  }

  #owned() {
    let n = 0;
    for (const { order } of this.#stubs.values()) if (order.state === 'created' || order.state === 'paid') n += order.qty;
    return n;
  }

  #show(order) {
    let stub = this.#stubs.get(order.order_id);
    if (!stub) {
      stub = new Stub(order, this.#shop, this.#headers, () => this.render());
      this.#stubs.set(order.order_id, stub);
      this.#parts.orders.prepend(stub.element);
    } else {
      stub.update(order);
    }
  }

  /** Shows the orders of an earlier visit that still hold units. */
  async #recall() {
    for (const id of this.#shop.ledger.orders(this.#user, this.#item.item).slice(-RECALLED)) {
      try {
        const { status, body } = await call(`orders/${encodeURIComponent(id)}`, { headers: this.#headers, signal: this.#life.signal });
        if (status === 200 && (body?.state === 'created' || body?.state === 'paid')) this.#show(body);
      } catch {
        if (this.#life.signal.aborted) return;
      }
    }
    this.render();
  }
}

function inProgress(words, progress) {
  switch (progress?.phase) {
    case 'queued':
      return progress.position ? words.say('progress.position', progress) : words.say('progress.queued');
    case 'waiting':
      if (progress.code === 'not_started') return words.say('progress.start');
      return words.together(words.reason(progress.code), words.say('progress.waiting'));
    case 'asking':
      return progress.attempt > 1 ? words.say('progress.repeat', progress) : words.say('progress.asking');
    default:
      return words.say('progress.asking');
  }
}

function atEnd(words, { kind, code, problem }) {
  return words.together(words.find(`kind.${kind}`), code && words.reason(code, problem));
}

function offer(select, n) {
  while (select.options.length < n) select.add(new Option(String(select.options.length + 1)));
  while (select.options.length > Math.max(1, n)) select.remove(select.options.length - 1);
}

let built = 0;

function build({ item }) {
  const id = `title-${++built}`; // an item's own id may hold anything
  const p = {
    state: h('p', { class: 'sale-state' }),
    title: h('h3', { class: 'sale-title', id }),
    price: h('p', { class: 'sale-price' }),
    terms: h('p', { class: 'sale-terms' }),
    until: h('p', { class: 'sale-until' }),
    count: h('p', { class: 'sale-count' }),
    qty: h('select', {}),
    qtyWord: h('span'),
    buy: h('button', { type: 'button', class: 'primary', 'data-buy': item, disabled: true, 'aria-describedby': id }),
    said: h('p', { class: 'unseen' }),
    text: h('p'),
    again: h('button', { type: 'button', class: 'primary', 'data-again': item, hidden: true }),
    orders: h('div', { class: 'sale-orders' }),
  };
  p.qtyLabel = h('label', { class: 'sale-qty', hidden: true }, p.qtyWord, p.qty);
  p.word = h('div', { class: 'sale-word', role: 'status', hidden: true }, p.text, p.again);
  p.root = h('article', { class: 'sale', 'data-item': item, 'aria-labelledby': id },
    h('div', { class: 'ticket' },
      h('div', { class: 'ticket-what' }, p.state, p.title, p.price, p.terms),
      h('div', { class: 'ticket-gate' }, p.until, p.count, p.qtyLabel, p.buy)),
    p.said, p.word, p.orders);
  return p;
}
