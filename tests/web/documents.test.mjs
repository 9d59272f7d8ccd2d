// SPDX-License-Identifier: Apache-2.0
//
// The JavaScript client on documents that people write: seed 004's chat.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { applyChange, infiniteOptions } from '../../clients/js/tanstack.js';
import { connect } from '../../clients/js/tidemark.js';
import { MESSAGES, ROOM, newestFirst, startChat } from './chat.mjs';
import { until } from './daemon.mjs';

const room = { filter: { roomId: ROOM, status: 'sent' } };

function idsOf(rows) {
  return rows.map((row) => row.id);
}

async function collect(handle) {
  const rows = [];
  for await (const row of handle) rows.push(row);
  return rows;
}

describe('documents', () => {
  let daemon;
  let db;

  before(async () => {
    daemon = await startChat();
  });
  beforeEach(() => {
    daemon.proxy.calm();
    daemon.proxy.struck = 0;
    db = connect(daemon.url, { attempts: 6 });
  });
  after(() => daemon.remove());

  // R004-10 R004-45
  test('the room of 392 messages comes as its collection says', async () => {
    const handle = await db.open('chat_messages', room);
    assert.deepEqual([handle.totalCount, handle.totalCountKind, handle.pageSize],
      [MESSAGES, 'exact', 100]);
    assert.deepEqual(idsOf(await collect(handle)), newestFirst);
  });

  test('a write whose reply is lost is done once', async () => {
    let lost = 0;
    daemon.proxy.strike((path) => (path.endsWith('/create') && lost++ === 0 ? 'reply' : undefined));
    const { items } = await db.create('users', { name: 'zoe', shoe: 39 });
    assert.equal(daemon.proxy.struck, 1);
    const found = await collect(await db.open('users', { filter: { name: 'zoe' } }));
    assert.deepEqual(idsOf(found), idsOf(items));
    assert.equal(found[0].shoe, 39);
    const { item } = await db.update('users', items[0].id, { status: 'away' });
    assert.deepEqual(await db.read('users', items[0].id), item);
    let replies = 0;
    daemon.proxy.strike((path) =>
      path.endsWith('/delete') && replies++ === 0 ? 'reply' : undefined);
    await db.delete('users', items[0].id);
    assert.equal(replies, 2);
    await assert.rejects(db.delete('users', items[0].id), { code: 'NOT_FOUND' });
    await assert.rejects(db.read('users', items[0].id), { code: 'NOT_FOUND' });
  });

  test('a change whose reply is lost undoes nothing that others wrote since', async () => {
    const others = connect(`http://127.0.0.1:${daemon.proxy.target}`);
    db = connect(daemon.url, { attempts: 12 });
    /** Loses the reply of such a command, and what is sent again until something else is done. */
    const meanwhile = async (command, deed) => {
      let tries = 0;
      let done = false;
      daemon.proxy.strike((path) => {
        if (!path.endsWith(`/${command}`) || done) return undefined;
        return tries++ === 0 ? 'reply' : 'request';
      });
      await until(() => tries > 1, 'the second try');
      await deed();
      done = true;
    };
    await others.create('users', { id: 'shared', name: 'start' });
    const [mine] = await Promise.all([
      db.update('users', 'shared', { name: 'mine' }),
      meanwhile('update', () => others.update('users', 'shared', { name: 'theirs' })),
    ]);
    assert.equal(mine.item.name, 'theirs');
    assert.equal((await others.read('users', 'shared')).name, 'theirs');
    const [{ seq }] = await Promise.all([
      db.delete('users', 'shared'),
      meanwhile('delete', () => others.create('users', { id: 'shared', name: 'new' })),
    ]);
    assert.ok(seq > mine.seq);
    assert.equal((await others.read('users', 'shared')).name, 'new');
  });

  test('a row that moved is no place to go on from', async () => {
    const rooms = Array.from({ length: 60 }, (_, i) => ({
      id: `r${i}`, name: `room ${i}`, lastActivityAt: new Date(1e12 - i * 1000).toISOString(),
    }));
    await db.create('rooms', rooms);
    const handle = await db.open('rooms', { pageSize: 10 });
    const rows = [];
    for (let page = 0; page < 3; page++) rows.push(...(await handle.next()).items);
    // The last two rows of the page become the liveliest rooms, and the handle expires.
    for (const id of ['r29', 'r28'])
      await db.update('rooms', id, { lastActivityAt: new Date(1e12 + 5000).toISOString() });
    await handle.release();
    rows.push(...(await collect(handle)));
    assert.deepEqual(idsOf(rows), idsOf(rooms));
  });

  /** What useInfiniteQuery does with its options. */
  class Infinite {
    pages = [];
    params = [];

    constructor(options, maxPages = Infinity) {
      Object.assign(this, { options, maxPages });
    }

    read(pageParam) {
      return this.options.queryFn({ pageParam });
    }

    async next() {
      const last = this.pages.at(-1);
      const param = last ? this.options.getNextPageParam(last) : this.options.initialPageParam;
      if (param === undefined) return false;
      this.pages.push(await this.read(param));
      this.params.push(param);
      if (this.pages.length > this.maxPages) this.drop('shift');
      return true;
    }

    async previous() {
      const param = this.options.getPreviousPageParam(this.pages[0]);
      if (param === undefined) return false;
      this.pages.unshift(await this.read(param));
      this.params.unshift(param);
      if (this.pages.length > this.maxPages) this.drop('pop');
      return true;
    }

    drop(way) {
      this.pages[way]();
      this.params[way]();
    }

    async refetch() {
      const count = this.pages.length;
      let param = this.params[0];
      this.pages = [];
      this.params = [];
      while (this.pages.length < count && param !== undefined) {
        this.pages.push(await this.read(param));
        this.params.push(param);
        param = this.options.getNextPageParam(this.pages.at(-1));
      }
    }

    get ids() {
      return idsOf(this.pages.flatMap((page) => page.items));
    }
  }

  test('TanStack Query reads, refetches and asks twice without a row too few or many', async () => {
    const query = new Infinite(infiniteOptions(db, 'chat_messages', room));
    while (await query.next());
    assert.deepEqual(query.ids, newestFirst);
    await query.refetch();
    assert.deepEqual(query.ids, newestFirst);
    const again = await query.read(query.params.at(-1));
    assert.deepEqual(idsOf(again.items), idsOf(query.pages.at(-1).items));
    await query.options.close();
    await query.refetch();
    assert.deepEqual(query.ids, newestFirst);
  });

  test('options that are made anew at every render are one walk of TanStack Query', async () => {
    const asked = () => daemon.proxy.seen.filter(({ path, params }) =>
      path.endsWith('/query-open') && params.collection === 'chat_messages').length;
    const before = asked();
    const fresh = () => infiniteOptions(db, 'chat_messages', { ...room, pageSize: 50 });
    const query = new Infinite(undefined);
    Object.defineProperty(query, 'options', { get: fresh });
    while (await query.next());
    assert.deepEqual(query.ids, newestFirst);
    assert.deepEqual(query.pages.map((page) => page.items.length), [50, 50, 50, 50, 50, 50, 50, 42]);
    assert.equal(asked() - before, 1);
    const other = infiniteOptions(db, 'chat_messages', { ...room, pageSize: 40 });
    assert.equal((await other.queryFn({ pageParam: null })).items.length, 40);
    assert.equal(daemon.handles(db.session).length, 2);
    for (const options of [fresh(), other]) await options.close();
    assert.equal(daemon.handles(db.session).length, 0);
  });

  test('a page that was scanned in vain is not the end for TanStack Query', async () => {
    const pages = [[], ['1'], [], [], ['2'], []];
    let at = -1;
    const page = () => ({
      items: (pages[at] ?? []).map((id) => ({ id })),
      pageNumber: at,
      hasMore: at + 1 < pages.length,
      hasPrevious: at > 0,
    });
    const handle = {
      next: async () => (at++, page()),
      prev: async () => (at--, page()),
      close: async () => {},
    };
    const query = new Infinite(infiniteOptions({ open: async () => handle }, 'any'), 1);
    assert.equal(await query.next(), true);
    assert.deepEqual(query.ids, ['1']);
    assert.equal(await query.next(), true);
    assert.deepEqual(query.ids, ['2']);
    assert.equal(await query.previous(), true);
    assert.deepEqual(query.ids, ['1']);
  });

  for (const window of [1, 3]) {
    test(`a window of ${window} pages of TanStack Query goes down and up again`, async () => {
      const options = infiniteOptions(db, 'chat_messages', { ...room, pageSize: 40 });
      const query = new Infinite(options, window);
      const seen = new Set();
      const look = () => {
        const at = query.ids.map((id) => newestFirst.indexOf(id));
        assert.deepEqual(at, Array.from(at, (_, i) => at[0] + i), 'no hole, no row twice');
        at.forEach((place) => seen.add(place));
      };
      while (await query.next()) look();
      assert.equal(seen.size, MESSAGES);
      seen.clear();
      await options.close();
      await query.refetch();
      look();
      const end = Math.max(...seen);
      while (await query.previous()) look();
      assert.equal(seen.size, end + 1);
    });
  }

  test('changes are put where a reader has the row', () => {
    const data = { pages: [{ items: [{ id: '1', n: 1 }] }, { items: [{ id: '2', n: 1 }] }] };
    const items = (changed) => changed.pages.map((page) => page.items);
    assert.deepEqual(items(applyChange(data, { op: 'enter', item: { id: '3' } })),
      [[{ id: '3' }, { id: '1', n: 1 }], [{ id: '2', n: 1 }]]);
    assert.deepEqual(items(applyChange(data, { op: 'update', item: { id: '2', n: 2 } })),
      [[{ id: '1', n: 1 }], [{ id: '2', n: 2 }]]);
    assert.deepEqual(items(applyChange(data, { op: 'leave', item: { id: '1' } })),
      [[], [{ id: '2', n: 1 }]]);
  });
});
