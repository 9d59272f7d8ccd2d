// SPDX-License-Identifier: Apache-2.0
//
// tanstack.js - a collection for useInfiniteQuery of TanStack Query, and for whatever works like it.
//
//   const query = useInfiniteQuery(infiniteOptions(db, 'chat_messages', { filter: { roomId } }));
//
// A refetch reads all pages again from the first; a window reads them forwards and backwards. So a
// page parameter says everything that is needed to read its page, whoever asks for it and whenever:
// which row it follows, or comes before. While the handle that read the neighbour is at hand, the
// page is one question to it; otherwise the query is opened anew around that row.
//
// A component makes its options anew whenever it renders. So the handles of a query belong to the
// connection, the collection and what is asked for, not to one set of options.

import { TidemarkError } from './wire.js';

const QUERIES_MAX = 50; // of a connection; who comes later has the oldest one closed

let walks = 0;
const queries = new WeakMap(); // of each connection: a Walks by what is asked for

/** The rows on one side of the row in a page that shows it. */
function sideOf(page, id, direction) {
  const at = page.items.findIndex((row) => row.id === id);
  if (at < 0)
    throw new TidemarkError('RESUME_LOST', 'the row that the page begins at is gone: read it anew');
  return direction > 0 ? page.items.slice(at + 1) : page.items.slice(0, at);
}

/** The next page in this direction that has rows: one that was scanned in vain is not the end. */
async function turn(handle, direction, signal) {
  for (;;) {
    const page = await (direction > 0 ? handle.next({ signal }) : handle.prev({ signal }));
    const goesOn = direction > 0 ? page.hasMore : page.hasPrevious;
    if (page.items.length > 0 || !goesOn) return page;
  }
}

class Walks {
  #db;
  #collection;
  #spec;
  #current; // {number, handle, page}: the walk that read last
  #turn = Promise.resolve();

  constructor(db, collection, spec) {
    this.#db = db;
    this.#collection = collection;
    this.#spec = spec;
  }

  /** Several readers come one after the other: each finds a handle that nobody else moves or closes. */
  read(param, signal) {
    return this.#inTurn(() => this.#read(param, signal));
  }

  close() {
    return this.#inTurn(async () => {
      await this.#current?.handle.close();
      this.#current = undefined;
    });
  }

  #inTurn(work) {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  async #read(param, signal) {
    signal?.throwIfAborted();
    const walk = this.#current;
    if (param === null) return this.#begin({}, signal);
    if (walk === undefined || walk.number !== param.walk) return this.#beginAt(param, signal);
    if (param.page === walk.page.pageNumber) return this.#result(walk);
    if (param.page === walk.page.pageNumber + param.direction) return this.#step(walk, param, signal);
    return this.#beginAt(param, signal);
  }

  async #step(walk, { direction }, signal) {
    walk.page = await turn(walk.handle, direction, signal);
    return this.#result(walk);
  }

  async #begin(extra, signal) {
    const former = this.#current;
    const handle = await this.#db.open(this.#collection, { ...this.#spec, ...extra, signal });
    const walk = { number: ++walks, handle };
    try {
      walk.page = await turn(handle, 1, signal);
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#current = walk;
    await former?.handle.close();
    return this.#result(walk);
  }

  async #beginAt({ id, direction }, signal) {
    const found = await this.#begin({ around: id, count: 'none' }, signal);
    const walk = this.#current;
    const items = sideOf(found, id, direction);
    const goesOn = direction > 0 ? found.hasMore : found.hasPrevious;
    if (items.length === 0 && goesOn) return this.#step(walk, { direction }, signal);
    return this.#result(walk, items, -direction);
  }

  /** `cut`: the side where rows of the page were left out, so that the walk's neighbour there is not
   *  the neighbour of these. */
  #result({ number, page }, items = page.items, cut = 0) {
    const side = (direction, row) => ({
      walk: direction === cut ? 0 : number,
      page: page.pageNumber + direction,
      direction,
      id: row.id,
    });
    return {
      ...page,
      items,
      next: page.hasMore && items.length > 0 ? side(1, items.at(-1)) : undefined,
      previous: page.hasPrevious && items.length > 0 ? side(-1, items[0]) : undefined,
    };
  }
}

function walksOf(db, collection, spec) {
  const name = JSON.stringify([collection, spec]);
  const mine = queries.get(db) ?? new Map();
  const found = mine.get(name) ?? new Walks(db, collection, spec);
  queries.set(db, mine);
  mine.delete(name);
  mine.set(name, found); // the last is the one used last
  for (const [oldest, old] of mine) {
    if (mine.size <= QUERIES_MAX) break;
    mine.delete(oldest);
    old.close();
  }
  return found;
}

/** What useInfiniteQuery is given. `close` frees the daemon's handle; without it, it expires. */
export function infiniteOptions(db, collection, spec = {}) {
  const reader = walksOf(db, collection, spec);
  return {
    queryKey: ['tidemark', collection, spec],
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) => reader.read(pageParam, signal),
    getNextPageParam: (page) => page.next,
    getPreviousPageParam: (page) => page.previous,
    close: () => reader.close(),
  };
}

/** The query's data after a change of the result; for setQueryData() in a loop over a tail. */
export function applyChange(data, { op, item }) {
  if (data === undefined) return data;
  const known = data.pages.some((page) => page.items.some((row) => row.id === item.id));
  const edit = (page, at) => {
    if (op === 'leave') return { ...page, items: page.items.filter((row) => row.id !== item.id) };
    if (known) return { ...page, items: page.items.map((row) => (row.id === item.id ? item : row)) };
    return op === 'enter' && at === 0 ? { ...page, items: [item, ...page.items] } : page;
  };
  return { ...data, pages: data.pages.map(edit) };
}
