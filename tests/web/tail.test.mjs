// SPDX-License-Identifier: Apache-2.0
//
// Changes as they happen: every one once, whatever breaks.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { connect } from '../../clients/js/tidemark.js';
import { ROOM, message, startChat } from './chat.mjs';
import { until } from './daemon.mjs';

const room = { filter: { roomId: ROOM, status: 'sent' }, pageSize: 10 };

describe('a tail', () => {
  let daemon;
  let db;
  let number = 10000;

  before(async () => {
    daemon = await startChat();
  });
  beforeEach(() => {
    daemon.proxy.calm();
    daemon.proxy.struck = 0;
    db = connect(daemon.url, { attempts: 12 });
  });
  after(() => daemon.remove());

  const say = async (more) =>
    (await db.create('chat_messages', message(++number, more))).items[0].id;

  /** The next `count` changes, as "op id". */
  async function take(tail, count) {
    const taken = [];
    while (taken.length < count) {
      const { value } = await tail.next();
      taken.push(`${value.op} ${value.item.id}`);
    }
    return taken;
  }

  // R004-40
  test('tells what enters, changes and leaves', async () => {
    const handle = await db.open('chat_messages', room);
    const tail = handle.tail();
    const mine = await say();
    assert.deepEqual(await take(tail, 1), [`enter ${mine}`]);
    await db.update('chat_messages', mine, { text: 'other words' });
    assert.deepEqual(await take(tail, 1), [`update ${mine}`]);
    await db.update('chat_messages', mine, { status: 'deleted' });
    assert.deepEqual(await take(tail, 1), [`leave ${mine}`]);
    await handle.close();
    assert.equal((await tail.next()).done, true);
  });

  test('a loop that is left goes on where it was', async () => {
    const handle = await db.open('chat_messages', room);
    const said = [];
    for (let i = 0; i < 5; i++) said.push(await say());
    const first = [];
    for await (const change of handle.tail()) {
      first.push(change.item.id);
      if (first.length === 2) break;
    }
    said.push(await say());
    const rest = await take(handle.tail(), 4);
    assert.deepEqual([...first, ...rest.map((words) => words.split(' ')[1])], said);
    await handle.close();
  });

  test('two on one handle are each told everything, and one goes on when the other is left', async () => {
    const handle = await db.open('chat_messages', room);
    const tails = [handle.tail(), handle.tail(), handle.tail({ push: false })];
    for (let round = 0; round < 3; round++) {
      const said = [await say(), await say(), await say()].map((id) => `enter ${id}`);
      for (const words of said)
        for (const tail of tails) assert.deepEqual(await take(tail, 1), [words]);
    }
    const last = await say();
    for (const tail of tails.slice(1)) {
      assert.deepEqual(await take(tail, 1), [`enter ${last}`]);
      await tail.return();
    }
    const after = await say();
    assert.deepEqual(await take(tails[0], 2), [`enter ${last}`, `enter ${after}`]);
    await handle.close();
    assert.equal((await tails[0].next()).done, true);
    await until(() => daemon.handles(db.session).length === 0, 'all handles to be closed');
  });

  for (const fault of ['request', 'reply', 'cut']) {
    test(`loses nothing and repeats nothing when every other ${fault} is lost`, async () => {
      const handle = await db.open('chat_messages', room);
      let asked = 0;
      daemon.proxy.strike((path) =>
        path.endsWith('/query-tail') && asked++ % 2 === 0 ? fault : undefined);
      const tail = handle.tail({ push: false });
      const said = [];
      const told = [];
      for (let i = 0; i < 6; i++) {
        said.push(`enter ${await say()}`);
        told.push(...(await take(tail, 1)));
      }
      assert.deepEqual(told, said);
      assert.ok(daemon.proxy.struck >= 3, `${daemon.proxy.struck} faults`);
      await handle.close();
    });
  }

  test('goes on when the handle is forgotten, and when the daemon is killed', async () => {
    const handle = await db.open('chat_messages', room);
    const tail = handle.tail();
    const first = await say();
    assert.deepEqual(await take(tail, 1), [`enter ${first}`]);
    await daemon.end('SIGKILL');
    daemon.loseHandles();
    await daemon.begin();
    await daemon.ready(() => db.list('chat_messages', { limit: 1 }));
    const second = await say();
    assert.deepEqual(await take(tail, 1), [`enter ${second}`]);
    await handle.close();
  });

  test('history and tail are the present', async () => {
    const handle = await db.open('chat_messages', room);
    const rows = new Map();
    const said = [];
    for await (const page of handle.pages()) {
      for (const row of page.items) rows.set(row.id, row);
      said.push(await say());
    }
    const tail = handle.tail();
    for (let told = 0; told < said.length; told++) {
      const { value } = await tail.next();
      assert.ok(!rows.has(value.item.id), 'history has no row that came after the opening');
      rows.set(value.item.id, value.item);
    }
    await handle.close();
    const present = await db.open('chat_messages', { ...room, pageSize: 1000 });
    const ids = [];
    for await (const row of present) ids.push(row.id);
    assert.deepEqual([...rows.keys()].sort(), ids.sort());
  });
});
