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
  readyState = EagerSocket.OPEN;

  constructor() {
    EagerSocket.opened++;
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
