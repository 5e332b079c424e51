/** Words, money and times in the reader's language. */
import en from './words_en.js';
import zh from './words_zh.js';
import { recall, remember } from './memory.js';

const BOOKS = { en, 'zh-CN': zh };

/** The page's language: the reader's choice, else the browser's, else English. Fires 'change'. */
export class Words extends EventTarget {
  #lang;

  constructor(lang = recall('lang') ?? navigator.language) {
    super();
    this.#lang = /^zh\b/i.test(lang) ? 'zh-CN' : 'en';
  }

  /** A BCP 47 tag, for the lang attribute. */
  get lang() {
    return this.#lang;
  }

  /** Changes to the other language, and remembers it. */
  toggle() {
    this.#lang = this.#lang === 'en' ? 'zh-CN' : 'en';
    remember('lang', this.#lang);
    this.dispatchEvent(new Event('change'));
  }

  /** The words for a key, with {name} filled in; undefined where the book has no such key. */
  find(key, values = {}) {
    return BOOKS[this.#lang][key]?.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''));
  }

  /** As find, but a missing key shows itself. */
  say(key, values) {
    return this.find(key, values) ?? key;
  }

  /** The sentence for a code of the shop's. */
  reason(code, problem) {
    const state = problem?.state && this.say(`order.state.${problem.state}`);
    return (
      this.find(`code.${code}.${problem?.scope}`) ??
      this.find(`code.${code}`, { state }) ??
      this.say('code.other', { code })
    );
  }

  /** Sentences one after the other, without the empty ones. */
  together(...sentences) {
    return sentences.filter(Boolean).join(this.#lang === 'en' ? ' ' : '');
  }

  /** Cents as an amount. Which currency is the shop's to say. */
  money(cents) {
    return new Intl.NumberFormat(this.#lang, { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(cents / 100);
  }

  /** A time of day with seconds, in the reader's zone. */
  time(ms) {
    return format(this.#lang, { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(ms);
  }

  /** From one moment to another, in the reader's zone. */
  window(from, to) {
    return format(this.#lang, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' }).formatRange(from, to);
  }
}

function format(lang, options) {
  return new Intl.DateTimeFormat(lang, { hourCycle: 'h23', ...options });
}
