// SPDX-License-Identifier: Apache-2.0
//
// push.js - one websocket to the daemon, on which it tells what changes as it happens.
//
// All tails of a connection share it; it is opened by the first and closed with the last. When it
// breaks, every tail is told, and goes on elsewhere or anew from where it was. What a slow reader
// has not taken is bounded: over the limit its tail is given up here, to be begun anew.

import { TidemarkError } from './wire.js';

const UNREAD_MAX = 10000; // changes of one tail

const IS_WORD = /^[-!#$%&'*+.^_`|~0-9A-Za-z]+$/; // what may be the name of a protocol

function protocolsFor({ token }) {
  return token ? ['tidemark', `tidemark.bearer.${token}`] : [];
}

function lost(words) {
  return new TidemarkError('UNREACHABLE', words, { retryable: true });
}

function addressOf(base) {
  const url = new URL('api/ws', base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

/** What the daemon sends to one tail, in the order it came. */
class Inbox {
  #batches = [];
  #unread = 0;
  #wake = () => {};
  #error;

  put(message) {
    if (this.#error) return;
    this.#unread += message.changes?.length ?? 0;
    this.#batches.push(message);
    if (this.#unread > UNREAD_MAX) this.end(lost('changes came faster than they were read'));
    this.#wake();
  }

  end(error) {
    this.#error ??= error;
    this.#wake();
  }

  async take() {
    while (this.#batches.length === 0) {
      if (this.#error) throw this.#error;
      await new Promise((resolve) => {
        this.#wake = resolve;
      });
    }
    const message = this.#batches.shift();
    this.#unread -= message.changes?.length ?? 0;
    return message;
  }
}

export class Push {
  #wire;
  #socket; // a promise of one that said hello
  #inboxes = new Map(); // by the name of the handle
  #waiting = new Map(); // by the id of the question
  #last = 0;

  constructor(wire) {
    this.#wire = wire;
  }

  /** A websocket of a browser carries no header: a token goes with it as a protocol, and is never
   *  part of an address. */
  static worksFor(wire) {
    return typeof globalThis.WebSocket === 'function' && IS_WORD.test(wire.token ?? 'none');
  }

  /** Batches {changes, seq} of one handle from `since` on, until it breaks or the signal says so. A
   *  handle has one follower here: a second is refused, as the daemon would, and disturbs nobody. */
  async *changes(queryHandle, since, signal) {
    const socket = await this.#open();
    if (this.#inboxes.has(queryHandle))
      throw new TidemarkError('CONFLICT', 'this query is followed here already');
    const inbox = new Inbox();
    const stop = () => inbox.end(signal.reason);
    this.#inboxes.set(queryHandle, inbox);
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      await this.#ask(socket, 'query-tail', { queryHandle, since, push: true });
      yield { changes: [], seq: since }; // it is let through, however long nothing changes
      for (;;) {
        const message = await inbox.take();
        if (message.success === false) throw new TidemarkError(message.code, message.error);
        yield { changes: message.changes, seq: message.seq };
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.#leave(socket, queryHandle, inbox);
    }
  }

  #leave(socket, queryHandle, inbox) {
    if (this.#inboxes.get(queryHandle) !== inbox) return;
    this.#inboxes.delete(queryHandle);
    if (this.#inboxes.size === 0) socket.close();
    else this.#ask(socket, 'query-untail', { queryHandle }).catch(() => {});
  }

  #open() {
    this.#socket ??= new Promise((resolve, reject) => {
      const socket = new WebSocket(addressOf(this.#wire.base), protocolsFor(this.#wire));
      socket.onopen = () => {
        const session = this.#wire.session;
        this.#ask(socket, 'hello', { session }).then(() => resolve(socket), reject);
      };
      socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
      socket.onclose = () => {
        const error = lost('the websocket was closed');
        this.#socket = undefined;
        reject(error);
        this.#end(error);
      };
    });
    return this.#socket;
  }

  #end(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    for (const inbox of this.#inboxes.values()) inbox.end(error);
    this.#waiting.clear();
    this.#inboxes.clear();
  }

  #ask(socket, command, params) {
    return new Promise((resolve, reject) => {
      if (socket.readyState !== WebSocket.OPEN) {
        reject(lost('the websocket was closed'));
        return;
      }
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ id, command, params }));
    });
  }

  #hear(message) {
    const question = this.#waiting.get(message.id);
    if (question) {
      this.#waiting.delete(message.id);
      const { result } = message;
      if (result.success) question.resolve(result);
      else question.reject(new TidemarkError(result.code, result.error));
      return;
    }
    this.#inboxes.get(message.queryHandle)?.put(message);
  }
}
