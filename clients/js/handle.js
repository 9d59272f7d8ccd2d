// SPDX-License-Identifier: Apache-2.0
//
// handle.js - one open query: its pages, forwards and backwards, and what changes in it.
//
// Always holds: every row is delivered once, in order, whatever is lost on the way. A page is asked
// for by its number, so a reply that got lost is asked for again. When the daemon no longer knows
// the handle, it is opened anew around the last row that was delivered; the place is the daemon's
// to find, a row is all that is known here.
//
// A row is a good place to go on from only while it is what it was: one that changed may stand
// elsewhere now, so an earlier one is tried. When no row of the last pages is left, the walk begins
// anew and leaves out what was delivered. Of a walk so long that this is no longer known the error
// is RESUME_LOST: never a row skipped in silence.

import { TidemarkError, follow, pause, pauseBefore } from './wire.js';
import { batchesOf } from './tail.js';

const SEEN_MAX = 100000;
const RECENT_PAGES = 2;
const REOPEN_MAX = 8;

// Engines without explicit resource management have no such symbol: then close() is the only way.
const asyncDispose = Symbol.asyncDispose ?? Symbol('tidemark.asyncDispose');

function sameRow(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

function idsOf(rows) {
  return rows.map((row) => row.id);
}

export class Handle {
  #wire;
  #spec;
  #name; // the daemon's; undefined: it is to be opened anew
  #serverPage = -1; // the number that the daemon gave to the page delivered last
  #at = -1; // the number that it has here; they differ after a reopening
  #recent = []; // the pages delivered last, in the order of the result
  #current = []; // rows of the last page that had any
  #beyond = 0; // 1, -1: after the last row, before the first
  #seen = new Set();
  #forgot = false; // #seen is not all of them
  #skip = new Set(); // delivered before a reopening, and not to be again
  #left = []; // of a page that a loop over rows did not finish
  #last; // the page delivered last
  #turn = Promise.resolve();
  #told; // {seq, untold} of the tail that was left last: up to where, and what it had yet to tell
  #followed = false; // by a tail, under the handle's own name
  #direction = 1;
  #gaveUp = false; // on a question that the daemon may still be at work on
  #life = new AbortController();

  /** Use Database.open(). */
  constructor(wire, spec, opened) {
    this.#wire = wire;
    this.#spec = spec;
    this.collection = spec.collection;
    this.totalCount = opened.totalCount;
    this.totalCountKind = opened.totalCountKind;
    this.pageSize = opened.pageSize;
    this.seq = opened.seq;
    this.#name = opened.queryHandle;
    this.#told = { seq: opened.seq, untold: [] };
  }

  get closed() {
    return this.#life.signal.aborted;
  }

  /** The next page. After the end it has no items, and hasMore is false. */
  next({ signal } = {}) {
    return this.#inTurn(signal, (life) => {
      if (this.#left.length === 0) return this.#step(1, life);
      return { ...this.#last, items: this.#left.splice(0) };
    });
  }

  /** The page before the one that was delivered last. */
  prev({ signal } = {}) {
    return this.#inTurn(signal, (life) => {
      this.#left = [];
      return this.#step(-1, life);
    });
  }

  async *pages({ signal } = {}) {
    for (let more = true; more; ) {
      const page = await this.next({ signal });
      more = page.hasMore;
      if (page.items.length > 0) yield page;
    }
  }

  /** Rows, from where the handle stands to the end. A loop that is left can be gone on with. */
  async *rows({ signal } = {}) {
    for (;;) {
      if (this.#left.length === 0) {
        if (this.#last?.hasMore === false) return;
        const page = await this.next({ signal });
        if (page.items.length === 0 && !page.hasMore) return;
        this.#left = [...page.items];
        continue;
      }
      yield this.#left.shift();
    }
  }

  [Symbol.asyncIterator]() {
    return this.rows();
  }

  /** What changes in the result from `since` on (left out: from the opening, or from where the last
   *  tail was left). Ends with the signal, with close(), or with an error: GAP says that the daemon
   *  no longer knows all of it, and the result is to be read anew. Several at once are each told all
   *  of it. */
  async *tail({ since, signal, push = true } = {}) {
    const life = follow(signal, this.#life.signal);
    const told = {
      seq: since ?? this.#told.seq,
      untold: since === undefined ? [...this.#told.untold] : [],
    };
    const first = !this.#followed; // a name has one follower: the others open one of their own
    const place = { wire: this.#wire, spec: this.#spec, since: told.seq };
    if (first) place.name = this.#name;
    this.#followed = true;
    try {
      while (told.untold.length > 0) yield told.untold.shift();
      for await (const { changes, seq } of batchesOf(place, { signal: life.signal, push })) {
        Object.assign(told, { seq, untold: [...changes] });
        while (told.untold.length > 0 && !life.signal.aborted) yield told.untold.shift();
      }
    } catch (error) {
      if (!life.signal.aborted) throw error;
    } finally {
      this.#told = told;
      if (first) this.#followed = false;
      life.release();
    }
  }

  /** Goes on after the last of these rows, which were delivered: for a reader who let go of what came
   *  after them. */
  goOnAfter(rows) {
    return this.#inTurn(undefined, async () => {
      await this.#drop();
      this.#recent = [rows];
      this.#current = rows;
      this.#beyond = 0;
      this.#left = [];
      this.#skip.clear();
      this.#seen.clear();
      this.#forgot = true;
      if (this.#last) this.#last = { ...this.#last, hasMore: true };
    });
  }

  /** The ids of the rows beside a row of the result as it is now, null where there is none; undefined
   *  when the row is not in it. */
  async neighbours(id, { signal } = {}) {
    const { count, pageSize, ...spec } = this.#spec;
    const small = { ...spec, around: id, pageSize: 3, count: 'none' };
    let queryHandle;
    try {
      ({ queryHandle } = await this.#ask('query-open', small, signal));
      const { items } = await this.#ask('query-next', { queryHandle, page: 0 }, signal);
      const at = items.findIndex((row) => row.id === id);
      return at < 0 ? undefined : { before: items[at - 1]?.id ?? null, after: items[at + 1]?.id ?? null };
    } catch (error) {
      if (error.code === 'NOT_FOUND') return undefined;
      throw error;
    } finally {
      if (queryHandle) this.#wire.once('query-close', { queryHandle }).catch(() => {});
    }
  }

  /** Lets the daemon forget it. Never throws: what cannot be closed there expires there. */
  async close() {
    if (this.closed) return;
    this.#life.abort(new TidemarkError('CLOSED', 'this handle was closed'));
    await this.#turn;
    await this.#drop();
  }

  /** Lets the daemon forget it, in the moment that a page is left; used again, it goes on. */
  async release() {
    await this.#drop({ keepalive: true });
  }

  [asyncDispose]() {
    return this.close();
  }

  // ---- one after the other ----

  #inTurn(signal, work) {
    const result = this.#turn.then(async () => {
      const life = follow(signal, this.#life.signal);
      try {
        life.signal.throwIfAborted();
        return await work(life.signal);
      } finally {
        life.release();
      }
    });
    this.#turn = result.catch(() => {});
    return result;
  }

  async #drop(options = {}) {
    const queryHandle = this.#name;
    this.#name = undefined;
    if (queryHandle === undefined) return;
    try {
      await this.#wire.once('query-close', { queryHandle }, options);
    } catch {
      // It expires.
    }
  }

  // ---- a step ----

  async #step(direction, signal) {
    let page;
    if (direction !== this.#direction) this.#skip.clear();
    this.#direction = direction;
    for (let tries = 0; page === undefined; tries++) {
      try {
        page =
          this.#name === undefined
            ? await this.#reopen(direction, signal)
            : await this.#turnPage(direction, this.#serverPage + direction, signal);
      } catch (error) {
        if (error.code !== 'HANDLE_NOT_FOUND' || tries >= REOPEN_MAX) throw error;
        this.#name = undefined;
        if (tries > 0) await pause(pauseBefore(tries), signal);
      }
    }
    return this.#deliver(direction, page);
  }

  /** The page of this number, without what was delivered before a reopening. */
  async #turnPage(direction, number, signal) {
    const command = direction > 0 ? 'query-next' : 'query-prev';
    for (let page = number; ; page += direction) {
      const answer = await this.#ask(command, { queryHandle: this.#name, page }, signal);
      const items = answer.items.filter((row) => !this.#skip.delete(row.id));
      const goesOn = direction > 0 ? answer.hasMore : answer.hasPrevious;
      // A page that was scanned in vain is short, and is delivered; one that was seen is not.
      if (items.length > 0 || answer.items.length === 0 || !goesOn)
        return { ...answer, items, serverPage: answer.pageNumber };
    }
  }

  async #ask(command, params, signal) {
    const mayBeBusy = this.#gaveUp;
    this.#gaveUp = true;
    try {
      const answer = await this.#wire.ask(command, params, { signal, mayBeBusy });
      this.#gaveUp = false;
      return answer;
    } catch (error) {
      this.#gaveUp = signal?.aborted || error.code === 'UNREACHABLE';
      throw error;
    }
  }

  #deliver(direction, { items, hasMore, hasPrevious, totalCount, serverPage }) {
    this.#serverPage = serverPage;
    this.#at += direction;
    this.#beyond = items.length > 0 || (direction > 0 ? hasMore : hasPrevious) ? 0 : direction;
    if (items.length > 0) this.#remember(direction, items);
    this.#last = {
      items,
      pageNumber: this.#at,
      hasMore,
      hasPrevious: hasPrevious ?? this.#at > 0,
      totalCount: totalCount ?? this.totalCount,
    };
    return this.#last;
  }

  #remember(direction, items) {
    this.#current = items;
    this.#recent =
      direction > 0 ? [...this.#recent, items].slice(-RECENT_PAGES) : [items];
    // Whoever goes back wants rows again that were seen: then they are no measure any more.
    if (direction < 0 || this.#seen.size > SEEN_MAX) {
      this.#seen.clear();
      this.#forgot = true;
    }
    for (const row of items) this.#seen.add(row.id);
  }

  // ---- opening anew ----

  async #open(extra, signal) {
    const opened = await this.#ask('query-open', { ...this.#spec, ...extra }, signal);
    this.#name = opened.queryHandle;
    this.#serverPage = -1;
    return opened;
  }

  #reopen(direction, signal) {
    return direction > 0 ? this.#reopenOnward(signal) : this.#reopenBack(signal);
  }

  async #reopenOnward(signal) {
    const rows = this.#recent.flat();
    this.#skip = new Set();
    if (this.#beyond < 0 || rows.length === 0) {
      await this.#open(this.#beyond < 0 ? { around: undefined } : {}, signal);
      return this.#turnPage(1, 0, signal);
    }
    for (let back = 1; back <= rows.length; back *= 2) {
      const at = rows.length - back;
      const found = await this.#openAround(rows[at], signal);
      if (found === undefined) continue;
      this.#skip = new Set(idsOf(rows.slice(at + 1)));
      const items = found.page.items
        .slice(found.index + 1)
        .filter((row) => !this.#skip.delete(row.id));
      if (items.length > 0 || !found.page.hasMore)
        return { ...found.page, items, hasPrevious: true, serverPage: 0 };
      return this.#turnPage(1, 1, signal);
    }
    if (this.#forgot) throw this.#lost();
    await this.#open({ around: undefined }, signal);
    this.#skip = new Set(this.#seen);
    return this.#turnPage(1, 0, signal);
  }

  async #reopenBack(signal) {
    const rows = this.#current;
    if (rows.length === 0) {
      await this.#open({}, signal);
      return this.#turnPage(-1, -1, signal);
    }
    // After the end the page before is the last one itself.
    const onLast = this.#beyond > 0;
    for (let on = 1; on <= rows.length; on *= 2) {
      const at = onLast ? rows.length - on : on - 1;
      const found = await this.#openAround(rows[at], signal);
      if (found === undefined) continue;
      this.#skip = new Set(onLast ? [] : idsOf(rows.slice(0, at)));
      const items = found.page.items
        .slice(0, onLast ? found.index + 1 : found.index)
        .filter((row) => !this.#skip.delete(row.id));
      if (items.length > 0 || !found.page.hasPrevious)
        return { ...found.page, items, hasMore: true, serverPage: 0 };
      return this.#turnPage(-1, -1, signal);
    }
    throw this.#lost();
  }

  #lost() {
    this.#name = undefined;
    return new TidemarkError(
      'RESUME_LOST',
      `the rows of ${this.collection} that were read last are gone, so it cannot be told where ` +
        'the walk stood: open it anew',
    );
  }

  /** The first page of a query opened around the row, if that stands there as it was. */
  async #openAround(row, signal) {
    try {
      await this.#open({ around: row.id, count: 'none' }, signal);
    } catch (error) {
      if (error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
    const page = await this.#ask('query-next', { queryHandle: this.#name, page: 0 }, signal);
    const index = page.items.findIndex((other) => other.id === row.id);
    if (index >= 0 && sameRow(page.items[index], row)) return { page, index };
    await this.#drop();
    return undefined;
  }
}
