// SPDX-License-Identifier: Apache-2.0
//
// tidemark.js - Tidemark's collections from JavaScript, in the browser and in Node.
//
//   const db = connect('http://127.0.0.1:8080');
//   await using h = await db.open('chat_messages', { filter: { roomId } });
//   for await (const row of h) console.log(row.text);
//   for await (const change of h.tail()) console.log(change.op, change.item);

import { Handle } from './handle.js';
import { TidemarkError, Wire } from './wire.js';

export { Handle, TidemarkError };

const SESSION_BYTES = 16;

// Node 18 has it, but not there.
const { crypto = (await import('node:crypto')).webcrypto } = globalThis;

function newSession() {
  const bytes = crypto.getRandomValues(new Uint8Array(SESSION_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** ['timestamp:desc', 'id'] or [{field, direction}], as the daemon wants it. */
function orderOf(order) {
  if (order === undefined) return undefined;
  return [order].flat().map((term) => {
    if (typeof term !== 'string') return term;
    const [field, direction = 'asc'] = term.split(':');
    return { field, direction };
  });
}

export class Database {
  #wire;

  /** Use connect(). */
  constructor(wire) {
    this.#wire = wire;
  }

  /** 32 hexadecimal digits; given to connect() again, handles of this session go on being ours. */
  get session() {
    return this.#wire.session;
  }

  async open(collection, options = {}) {
    const { orderBy, signal, ...rest } = options;
    const spec = { ...rest, collection, orderBy: orderOf(orderBy) };
    return new Handle(this.#wire, spec, await this.#wire.ask('query-open', spec, { signal }));
  }

  /** `data` is one document or a list of them; the answer has them as they were stored. */
  create(collection, data, { idempotencyKey = newSession(), signal } = {}) {
    return this.#wire.ask('create', { collection, data, idempotencyKey }, { signal });
  }

  async read(collection, id, { signal, ...rest } = {}) {
    return (await this.#wire.ask('read', { collection, id, ...rest }, { signal })).item;
  }

  /** Changes the given fields only. When the reply got lost on the way, `item` is the document as it
   *  is by then: null when it is gone. */
  update(collection, id, data, { idempotencyKey = newSession(), signal, ...rest } = {}) {
    return this.#wire.ask('update', { collection, id, data, idempotencyKey, ...rest }, { signal });
  }

  delete(collection, id, { idempotencyKey = newSession(), signal, ...rest } = {}) {
    const options = { signal, doneIf: 'NOT_FOUND' };
    return this.#wire.ask('delete', { collection, id, idempotencyKey, ...rest }, options);
  }

  list(collection, { orderBy, signal, ...rest } = {}) {
    return this.#wire.ask('list', { collection, orderBy: orderOf(orderBy), ...rest }, { signal });
  }

  /** The links that people share, as GET /api/trending has them. */
  trending(parameters = {}, { signal } = {}) {
    return this.#wire.get(`api/trending?${new URLSearchParams(parameters)}`, { signal });
  }
}

/** `url` is the daemon's address. Nothing is sent before something is asked. */
export function connect(url, { token, session = newSession(), fetch, answerMs, attempts } = {}) {
  return new Database(new Wire(url, { token, session, fetch, answerMs, attempts }));
}
