// SPDX-License-Identifier: Apache-2.0
//
// push.js - one websocket to the daemon, on which it tells what changes as it happens.
//
// All tails of a connection share it; it is opened by the first and closed with the last. When it
// breaks, every tail is told, and goes on elsewhere or anew from where it was. What a slow reader
// has not taken is bounded: over the limit its tail is given up here, to be begun anew.
//
// Nothing tells of a connection whose other end is gone: a machine that slept, a router that forgot.
// So when nothing was heard for a while the daemon is asked for a word, and without one in time the
// websocket counts as broken. One that does not open in time is none.

import { TidemarkError } from './wire.js';

const UNREAD_MAX = 10000; // changes of one tail
const OPEN_MS_MAX = 10000;
const SILENCE_MS = 20000; // unless the daemon says otherwise

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

  /** What the promise comes to, unless this ends before. */
  async until(promise) {
    let outcome;
    const settle = (what) => {
      outcome = what;
      this.#wake();
    };
    promise.then((value) => settle({ value }), (error) => settle({ error }));
    await this.#when(() => outcome !== undefined);
    if (outcome.error) throw outcome.error;
    return outcome.value;
  }

  async take() {
    await this.#when(() => this.#batches.length > 0);
    const message = this.#batches.shift();
    this.#unread -= message.changes?.length ?? 0;
    return message;
  }

  async #when(ready) {
    while (!ready()) {
      if (this.#error) throw this.#error;
      await new Promise((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

export class Push {
  #wire;
  #socket; // the one in use
  #greeted; // a promise of it, when it has said hello
  #inboxes = new Map(); // by the name of the handle
  #waiting = new Map(); // by the id of the question
  #last = 0;
  #silenceMs = SILENCE_MS;
  #timer;

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
    signal.throwIfAborted();
    if (this.#inboxes.has(queryHandle))
      throw new TidemarkError('CONFLICT', 'this query is followed here already');
    const inbox = new Inbox();
    const stop = () => inbox.end(signal.reason);
    this.#inboxes.set(queryHandle, inbox);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const socket = await inbox.until(this.#open());
      await inbox.until(this.#ask(socket, 'query-tail', { queryHandle, since, push: true }));
      yield { changes: [], seq: since }; // it is let through, however long nothing changes
      for (;;) {
        const message = await inbox.take();
        if (message.success === false) throw new TidemarkError(message.code, message.error);
        yield { changes: message.changes, seq: message.seq };
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.#leave(queryHandle, inbox);
    }
  }

  #leave(queryHandle, inbox) {
    if (this.#inboxes.get(queryHandle) !== inbox) return;
    this.#inboxes.delete(queryHandle);
    if (this.#inboxes.size === 0) this.#end(lost('nobody listens any more'));
    else this.#ask(this.#socket, 'query-untail', { queryHandle }).catch(() => {});
  }

  // ---- the websocket ----

  #open() {
    this.#greeted ??= new Promise((resolve, reject) => {
      const socket = new WebSocket(addressOf(this.#wire.base), protocolsFor(this.#wire));
      this.#socket = socket;
      this.#expect(Math.min(OPEN_MS_MAX, this.#wire.answerMs ?? OPEN_MS_MAX));
      socket.onopen = () => {
        const session = this.#wire.session;
        this.#ask(socket, 'hello', { session }).then((hello) => {
          this.#silenceMs = hello.pingMs ?? SILENCE_MS;
          this.#listen();
          resolve(socket);
        }, reject);
      };
      socket.onmessage = ({ data }) => this.#hear(socket, JSON.parse(data));
      socket.onclose = () => {
        const error = lost('the websocket was closed');
        reject(error);
        if (this.#socket === socket) this.#end(error);
      };
    });
    return this.#greeted;
  }

  /** Whoever waits for something is told; who comes later begins with a websocket of its own. */
  #end(error) {
    const socket = this.#socket;
    clearTimeout(this.#timer);
    this.#socket = this.#greeted = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    for (const inbox of this.#inboxes.values()) inbox.end(error);
    this.#waiting.clear();
    this.#inboxes.clear();
    socket?.close();
  }

  /** Something is to be heard within this time. */
  #expect(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(lost('the websocket fell silent')), ms);
  }

  /** After a while without a word the daemon is asked for one: to end nothing is done at once. */
  #listen() {
    const socket = this.#socket;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#expect(this.#silenceMs);
      this.#ask(socket, 'query-untail', { queryHandle: '' }).catch(() => {});
    }, this.#silenceMs);
  }

  #ask(socket, command, params) {
    return new Promise((resolve, reject) => {
      if (socket?.readyState !== WebSocket.OPEN) {
        reject(lost('the websocket was closed'));
        return;
      }
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ id, command, params }));
    });
  }

  #hear(socket, message) {
    if (this.#socket !== socket) return; // it was given up
    this.#listen();
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
