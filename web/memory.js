// SPDX-License-Identifier: Apache-2.0
//
// memory.js - what the browser remembers for its reader, and for nobody else.
//
// Where storage is refused, everything works and nothing is remembered.

const PREFIX = 'tidemark.';

/** A text that was kept, or `otherwise`. */
export function recall(name, otherwise) {
  try {
    return localStorage.getItem(PREFIX + name) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(name, text) {
  try {
    localStorage.setItem(PREFIX + name, text);
  } catch {
    // Full or refused: the page goes on without.
  }
}

/** A list of texts, newest last, of which at most `max` are kept. */
export class KeptList {
  #name;
  #max;
  #items;

  constructor(name, max) {
    this.#name = name;
    this.#max = max;
    this.#items = new Set(KeptList.#parse(recall(name, '[]')));
  }

  static #parse(text) {
    try {
      const items = JSON.parse(text);
      return Array.isArray(items) ? items.filter((item) => typeof item === 'string') : [];
    } catch {
      return [];
    }
  }

  get items() {
    return [...this.#items];
  }

  has(item) {
    return this.#items.has(item);
  }

  add(item) {
    this.#items.delete(item);
    this.#items.add(item);
    this.#store();
  }

  remove(item) {
    this.#items.delete(item);
    this.#store();
  }

  #store() {
    this.#items = new Set([...this.#items].slice(-this.#max));
    keep(this.#name, JSON.stringify([...this.#items]));
  }
}
