/** One order on the page: what was bought, how long it may be paid, and the two things to do with it. */
import { clockFace, countdown } from './countdown.js';
import { h, setText } from './dom.js';
import { backoff } from './verdict.js';
import { call, pause } from './wire.js';

/** Looks at an order whose time to pay is over, until the shop has closed it. */
const LOOKS = 6;

export class Stub {
  #shop;
  #order;
  #headers;
  #changed;
  #parts;
  #life = new AbortController();
  #doing = ''; // 'pay' or 'cancel' while that is in flight
  #trouble = null; // {key, code, problem} of the last try
  #stopCounting = () => {};
  #counting = 0;

  /**
   * @param {any} order as the shop tells it
   * @param {import('./card.js').Shop} shop
   * @param {Record<string, string>} headers of the buyer
   * @param {() => void} changed called after the order changed
   */
  constructor(order, shop, headers, changed) {
    this.#shop = shop;
    this.#order = order;
    this.#headers = headers;
    this.#changed = changed;
    this.#parts = build(order);
    this.#parts.pay.addEventListener('click', () => this.#do('pay'));
    this.#parts.cancel.addEventListener('click', () => this.#do('cancel'));
    this.render();
  }

  get element() {
    return this.#parts.root;
  }

  get order() {
    return this.#order;
  }

  update(order) {
    this.#order = order;
    this.render();
  }

  remove() {
    this.#life.abort();
    this.#stopCounting();
    this.element.remove();
  }

  render() {
    const { words } = this.#shop;
    const p = this.#parts;
    const { state, qty, amount_cents, order_id } = this.#order;
    const payable = state === 'created';
    p.root.dataset.state = state;
    p.root.setAttribute('aria-label', `${words.say('order.number')} ${order_id}`);
    p.root.setAttribute('aria-busy', String(this.#doing !== ''));
    setText(p.state, words.find(`order.state.${state}`) ?? state);
    setText(p.numberWord, words.say('order.number'));
    setText(p.qtyWord, words.say('order.qty'));
    setText(p.qty, String(qty));
    setText(p.amountWord, words.say('order.amount'));
    setText(p.amount, words.money(amount_cents ?? 0));
    setText(p.until, words.say('order.pay_by'));
    setText(p.pay, words.say(this.#doing === 'pay' ? 'order.paying' : 'order.pay'));
    setText(p.cancel, words.say(this.#doing === 'cancel' ? 'order.cancelling' : 'order.cancel'));
    p.deadline.hidden = p.actions.hidden = !payable;
    p.pay.disabled = p.cancel.disabled = this.#doing !== '';
    setText(p.word, this.#trouble ? this.#explain() : '');
    this.#count(payable ? this.#order.pay_by : 0);
  }

  #explain() {
    const { words } = this.#shop;
    const { key, code, problem } = this.#trouble;
    return key ? words.say(key) : words.reason(code, problem);
  }

  #count(payBy) {
    if (payBy === this.#counting) return;
    this.#counting = payBy;
    this.#stopCounting();
    if (!payBy) return;
    this.#stopCounting = countdown(this.#parts.count, this.#shop.clock, payBy, {
      format: (ms) => clockFace(ms, this.#shop.words.say('until.day')),
      reached: () => this.#watchExpiry(),
    });
  }

  /** The shop closes an unpaid order a little after its time; not this page. */
  async #watchExpiry() {
    for (let i = 0; i < LOOKS && this.#order.state === 'created'; i++) {
      try {
        await pause(1000 + backoff(i + 2), this.#life.signal);
      } catch {
        return;
      }
      await this.#look();
    }
  }

  async #do(verb) {
    if (this.#doing) return;
    this.#doing = verb;
    this.#trouble = null;
    this.render();
    const answer = await this.#ask(`orders/${encodeURIComponent(this.#order.order_id)}/${verb}`, 'POST');
    if (answer?.status === 200 && answer.body?.order_id) {
      this.#order = answer.body;
    } else {
      // Whatever went wrong, the order itself says where it stands.
      const known = await this.#look();
      this.#trouble = trouble(answer, known && this.#order.state !== 'created');
    }
    this.#doing = '';
    this.render();
    this.#changed();
  }

  /** Looks the order up; true where the shop answered. */
  async #look() {
    const answer = await this.#ask(`orders/${encodeURIComponent(this.#order.order_id)}`, 'GET');
    if (answer?.status !== 200 || !answer.body?.order_id) return false;
    this.update(answer.body);
    this.#changed();
    return true;
  }

  async #ask(path, method) {
    try {
      return await call(path, { method, headers: this.#headers, signal: this.#life.signal });
    } catch {
      return null;
    }
  }
}

/** What to say of a try that brought no order: nothing, if the order has moved on by it after all. */
function trouble(answer, moved) {
  if (answer && answer.status < 500) return { code: answer.code || `http_${answer.status}`, problem: answer.body };
  if (moved) return null;
  if (answer?.status === 503) return { code: answer.code || 'overloaded', problem: answer.body };
  return { key: 'order.unknown' };
}

function build({ order_id }) {
  const p = {
    state: h('p', { class: 'stub-state' }),
    numberWord: h('dt'),
    qtyWord: h('dt'),
    qty: h('dd'),
    amountWord: h('dt'),
    amount: h('dd'),
    until: h('span'),
    count: h('span', { class: 'stub-count' }),
    pay: h('button', { type: 'button', class: 'primary', 'data-pay': order_id }),
    cancel: h('button', { type: 'button', class: 'quiet', 'data-cancel': order_id }),
    word: h('p', { class: 'stub-word', role: 'status' }),
  };
  p.deadline = h('p', { class: 'stub-deadline' }, p.until, ' ', p.count);
  p.actions = h('div', { class: 'stub-actions' }, p.pay, p.cancel);
  p.root = h('section', { class: 'stub', 'data-order': order_id },
    h('div', { class: 'stub-head' }, p.state, p.deadline),
    h('dl', { class: 'stub-facts' },
      h('div', {}, p.numberWord, h('dd', { class: 'stub-number' }, order_id)),
      h('div', {}, p.qtyWord, p.qty),
      h('div', {}, p.amountWord, p.amount)),
    p.actions, p.word);
  return p;
}
