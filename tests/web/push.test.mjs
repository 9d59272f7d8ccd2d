// SPDX-License-Identifier: Apache-2.0
//
// A reader who is slower than the daemon pushes: bounded, and still told everything once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Push } from '../../clients/js/push.js';
import { batchesOf } from '../../clients/js/tail.js';

const MESSAGES = 60;
const CHANGES_EACH = 500;

function batch(seq) {
  const changes = Array.from({ length: CHANGES_EACH }, (_, i) => ({
    op: 'enter', seq, item: { id: `${seq}-${i}` },
  }));
  return { changes, seq };
}

/** A socket to a daemon that has everything to tell, all at once. */
class EagerSocket {
  static OPEN = 1;
  static opened = 0;
  static asked = [];
  readyState = EagerSocket.OPEN;

  constructor(url, protocols) {
    EagerSocket.opened++;
    EagerSocket.asked.push({ url: String(url), protocols });
    queueMicrotask(() => this.onopen());
  }

  send(words) {
    const { id, command, params } = JSON.parse(words);
    this.#say({ id, result: { success: true } });
    for (let seq = params.since + 1; command === 'query-tail' && seq <= MESSAGES; seq++)
      this.#say({ push: 'tail', queryHandle: params.queryHandle, ...batch(seq) });
  }

  close() {
    this.readyState = 3;
    queueMicrotask(() => this.onclose());
  }

  #say(message) {
    queueMicrotask(() => this.onmessage({ data: JSON.stringify(message) }));
  }
}

test('what a slow reader has not taken is bounded, and nothing is lost by it', async (t) => {
  const former = globalThis.WebSocket;
  globalThis.WebSocket = EagerSocket;
  t.after(() => {
    globalThis.WebSocket = former;
  });
  const asked = [];
  const wire = {
    base: new URL('http://127.0.0.1/'),
    session: '0'.repeat(32),
    once: async (command, { since }) => {
      asked.push(since);
      return batch(Math.min(since + 1, MESSAGES));
    },
  };
  const stop = new AbortController();
  const place = { wire, spec: {}, name: 'h', since: 0 };
  const told = [];
  assert.ok(Push.worksFor(wire));
  for await (const { changes, seq } of batchesOf(place, { signal: stop.signal, push: true })) {
    assert.equal(changes.length, CHANGES_EACH);
    told.push(seq);
    if (seq === MESSAGES) break;
  }
  stop.abort();
  assert.deepEqual(told, Array.from({ length: MESSAGES }, (_, i) => i + 1));
  // Over 10,000 unread changes are 21 messages; then it asks once, and is pushed to again.
  assert.deepEqual(asked, [21, 43]);
  assert.equal(EagerSocket.opened, 3);
});

/** A socket to a daemon that has too much to do for the first question. */
class BusySocket extends EagerSocket {
  static refused = 0;

  send(words) {
    const { id, command } = JSON.parse(words);
    if (command !== 'query-tail' || BusySocket.refused++ > 0) {
      super.send(words);
      return;
    }
    const result = { success: false, code: 'DEADLINE', error: 'the store has not the time' };
    queueMicrotask(() => this.onmessage({ data: JSON.stringify({ id, result }) }));
  }
}

test('a tail outlives a daemon that has no time for it', async (t) => {
  const former = globalThis.WebSocket;
  globalThis.WebSocket = BusySocket;
  t.after(() => {
    globalThis.WebSocket = former;
  });
  const wire = {
    base: new URL('http://127.0.0.1/'),
    session: '0'.repeat(32),
    once: async (command, { since }) => ({ changes: [], seq: since }),
  };
  const stop = new AbortController();
  const place = { wire, spec: {}, name: 'h', since: 0 };
  for await (const { seq } of batchesOf(place, { signal: stop.signal, push: true })) {
    assert.equal(seq, 1);
    break;
  }
  stop.abort();
  assert.equal(BusySocket.refused, 2);
});

/** A socket to a daemon that has nothing to tell, cut once it is listened to. */
class CutSocket extends EagerSocket {
  static tails = 0;

  send(words) {
    const { id, command } = JSON.parse(words);
    const result = { success: true };
    queueMicrotask(() => this.onmessage({ data: JSON.stringify({ id, result }) }));
    if (command !== 'query-tail') return;
    CutSocket.tails++;
    setTimeout(() => this.close());
  }
}

test('websockets that were let through are not given up because they were cut', async (t) => {
  const former = globalThis.WebSocket;
  globalThis.WebSocket = CutSocket;
  t.after(() => {
    globalThis.WebSocket = former;
  });
  let asked = 0;
  const stop = new AbortController();
  const wire = {
    base: new URL('http://127.0.0.1/'),
    session: '0'.repeat(32),
    once: async (command, { since }) => {
      if (++asked === 4) stop.abort();
      return { changes: [], seq: since };
    },
  };
  const place = { wire, spec: {}, name: 'h', since: 0 };
  for await (const told of batchesOf(place, { signal: stop.signal, push: true })) assert.fail(told);
  assert.equal(CutSocket.tails, 4);
});

/** A socket to a daemon that refuses to have a query followed twice, as it does. */
class StrictSocket extends EagerSocket {
  static last;
  followed = new Set();

  constructor(...words) {
    super(...words);
    StrictSocket.last = this;
  }

  send(words) {
    const { id, command, params } = JSON.parse(words);
    const twice = command === 'query-tail' && this.followed.has(params.queryHandle);
    if (command === 'query-tail') this.followed.add(params.queryHandle);
    if (command === 'query-untail') this.followed.delete(params.queryHandle);
    const result = twice ? { success: false, code: 'CONFLICT', error: 'twice' } : { success: true };
    queueMicrotask(() => this.onmessage({ data: JSON.stringify({ id, result }) }));
  }

  tell(queryHandle, seq) {
    this.onmessage({ data: JSON.stringify({ push: 'tail', queryHandle, ...batch(seq) }) });
  }
}

test('a query that is followed is not taken from its reader by a second one', async (t) => {
  const former = globalThis.WebSocket;
  globalThis.WebSocket = StrictSocket;
  t.after(() => {
    globalThis.WebSocket = former;
  });
  const stop = new AbortController();
  const push = new Push({ base: new URL('http://127.0.0.1/'), session: '0'.repeat(32) });
  const first = push.changes('h', 0, stop.signal);
  assert.equal((await first.next()).value.seq, 0);
  await assert.rejects(push.changes('h', 0, stop.signal).next(), { code: 'CONFLICT' });
  StrictSocket.last.tell('h', 1);
  assert.equal((await first.next()).value.seq, 1);
  assert.equal(StrictSocket.last.readyState, EagerSocket.OPEN);
  await first.return();
});

test('a token goes with the websocket and is in no address', async (t) => {
  const former = globalThis.WebSocket;
  globalThis.WebSocket = EagerSocket;
  t.after(() => {
    globalThis.WebSocket = former;
  });
  const base = new URL('https://example.org/');
  const asked = async (token) => {
    const stop = new AbortController();
    const wire = { base, session: '0'.repeat(32), token };
    EagerSocket.asked = [];
    for await (const { seq } of new Push(wire).changes('h', 0, stop.signal)) if (seq === 1) break;
    return EagerSocket.asked;
  };
  const url = 'wss://example.org/api/ws';
  assert.deepEqual(await asked(), [{ url, protocols: [] }]);
  assert.deepEqual(await asked('tmk_1'), [{ url, protocols: ['tidemark', 'tidemark.bearer.tmk_1'] }]);
  assert.ok(Push.worksFor({ token: 'tmk_1' }));
  assert.ok(!Push.worksFor({ token: 'a token' }), 'what cannot be a protocol is sent as a header');
});

/** A socket that never opens, as behind somebody who takes connections and forgets them. */
class ClosedDoor {
  static OPEN = 1;
  static made = [];
  readyState = 0;

  constructor() {
    ClosedDoor.made.push(this);
  }

  close() {
    this.readyState = 3;
    queueMicrotask(() => this.onclose());
  }
}

/** A socket whose other end is gone once it is listened to, of which nothing tells. */
class DeafSocket extends EagerSocket {
  static made = [];

  constructor(url) {
    super(url);
    DeafSocket.made.push(this);
  }

  send(words) {
    const { id, command } = JSON.parse(words);
    const result = { success: true, pingMs: 20 };
    this.commands = [...(this.commands ?? []), command];
    if (this.commands.includes('query-tail') && command !== 'query-tail') return;
    queueMicrotask(() => this.onmessage({ data: JSON.stringify({ id, result }) }));
  }

  close() {
    this.readyState = 2; // the answer to this is waited for in vain, too
  }
}

function answeringWire(asked) {
  return {
    base: new URL('http://127.0.0.1/'),
    session: '0'.repeat(32),
    answerMs: 20,
    once: async (command, { since }) => {
      asked.push(command);
      return { changes: asked.length < 2 ? [] : batch(since + 1).changes, seq: since + 1 };
    },
  };
}

async function firstBatch(t, socket, asked) {
  const former = globalThis.WebSocket;
  globalThis.WebSocket = socket;
  t.after(() => {
    globalThis.WebSocket = former;
  });
  const stop = new AbortController();
  const place = { wire: answeringWire(asked), spec: {}, name: 'h', since: 0 };
  const batches = batchesOf(place, { signal: stop.signal, push: true });
  const { value } = await batches.next();
  stop.abort();
  await batches.return();
  return value;
}

test('a websocket that never opens is given up, and changes are asked for', async (t) => {
  const asked = [];
  const { changes } = await firstBatch(t, ClosedDoor, asked);
  assert.equal(changes.length, CHANGES_EACH);
  assert.ok(asked.length >= 2);
});

test('a websocket whose other end is gone is noticed, and given up', async (t) => {
  const asked = [];
  const { changes } = await firstBatch(t, DeafSocket, asked);
  assert.equal(changes.length, CHANGES_EACH);
  assert.deepEqual(DeafSocket.made[0].commands, ['hello', 'query-tail', 'query-untail']);
  assert.equal(DeafSocket.made[0].readyState, 2);
});

test('a tail that is left while its websocket opens ends at once', async (t) => {
  const former = globalThis.WebSocket;
  globalThis.WebSocket = ClosedDoor;
  t.after(() => {
    globalThis.WebSocket = former;
  });
  const stop = new AbortController();
  const wire = { ...answeringWire([]), answerMs: undefined };
  const batches = batchesOf({ wire, spec: {}, name: 'h', since: 0 }, { signal: stop.signal, push: true });
  const first = batches.next();
  await Promise.resolve();
  stop.abort();
  assert.equal((await first).done, true);
  assert.equal(ClosedDoor.made.at(-1).readyState, 3);
});
