// SPDX-License-Identifier: Apache-2.0
//
// row-places.js - rows of a list whose places are not known yet.
//
// Where a row stands is the daemon's to say; it is asked for one row after the other. A row that
// changes meanwhile waits behind the others again, as it is now. One that stands between rows the
// list has not heard of is kept until one of them is told: their change may be on its way.
//
// Always holds: no more rows wait, and no more are kept, than WAITING_MAX.

const WAITING_MAX = 100;

export class RowPlaces {
  #list;
  #waiting = new Map(); // id → row
  #strays = new Map(); // id → {item, place}
  #asking = false;

  /** `list` has a signal that ends it, neighbours(id), place(item, place) → whether it has one there,
   *  placed() when all were asked for, overflow() when too many wait, and failed(error). */
  constructor(list) {
    this.#list = list;
  }

  /** The row left the list. */
  forget(id) {
    this.#waiting.delete(id);
    this.#strays.delete(id);
  }

  /** Asks for the row's place, and has it put there. */
  add(item) {
    this.forget(item.id);
    this.#waiting.set(item.id, item);
    if (this.#waiting.size > WAITING_MAX) this.#list.overflow();
    else if (!this.#asking) this.#askAll();
  }

  /** What stands beside a row that is shown now can be placed. */
  #addBeside(id) {
    for (const { item, place } of [...this.#strays.values()])
      if (place.before === id || place.after === id) this.add(item);
  }

  #keep(item, place) {
    this.#strays.set(item.id, { item, place });
    if (this.#strays.size > WAITING_MAX) this.#strays.delete(this.#strays.keys().next().value);
  }

  async #askAll() {
    const { signal } = this.#list;
    this.#asking = true;
    try {
      for (const [id, item] of this.#waiting) {
        const place = await this.#list.neighbours(id);
        if (signal.aborted) return;
        if (this.#waiting.get(id) !== item) continue; // it changed again
        this.#waiting.delete(id);
        if (this.#list.place(item, place)) this.#addBeside(id);
        else if (place) this.#keep(item, place);
      }
      this.#list.placed();
    } catch (error) {
      if (!signal.aborted) this.#list.failed(error);
    } finally {
      this.#asking = false;
    }
  }
}
