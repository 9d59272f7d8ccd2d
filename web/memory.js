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

/** Whether it is kept. Full or refused: the page goes on without. */
export function keep(name, text) {
  try {
    localStorage.setItem(PREFIX + name, text);
    return true;
  } catch {
    return false;
  }
}

/** `changed` is called when another tab keeps something, or somebody clears all of it. */
export function listenToTabs(changed) {
  addEventListener('storage', ({ key }) => (key === null || key.startsWith(PREFIX)) && changed());
}

/** A list of texts, newest last, of which at most `max` are kept. All tabs have the same one: each
 * changes what is kept by now, not what it read when it was opened. */
export class KeptList {
  #name;
  #max;
  #items;
  #kept = true; // else only this tab has them

  constructor(name, max) {
    this.#name = name;
    this.#max = max;
    this.refresh();
  }

  /** Takes over what other tabs did. */
  refresh() {
    if (this.#kept) this.#items = new Set(KeptList.#parse(recall(this.#name, '[]')));
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
    this.refresh();
    this.#items.delete(item);
    this.#items.add(item);
    this.#store();
  }

  remove(item) {
    this.refresh();
    this.#items.delete(item);
    this.#store();
  }

  #store() {
    this.#items = new Set([...this.#items].slice(-this.#max));
    this.#kept = keep(this.#name, JSON.stringify([...this.#items]));
  }
}
