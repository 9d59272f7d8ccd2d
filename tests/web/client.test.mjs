// SPDX-License-Identifier: Apache-2.0
//
// The JavaScript client against a real daemon, through a network that loses what it can.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { TidemarkError, connect } from '../../clients/js/tidemark.js';
import { Daemon } from './daemon.mjs';

const ROWS = 392;

function idsOf(rows) {
  return rows.map((row) => row.id);
}

async function collect(handle) {
  const rows = [];
  for await (const row of handle) rows.push(row);
  return rows;
}

/** What the last page had, closed behind the client's back: as an expiry looks to it. */
async function forget(daemon, db) {
  const url = new URL('api/data/query-close', daemon.url);
  for (const { handle } of daemon.handles(db.session))
    await fetch(url, {
      method: 'POST',
      headers: { 'tidemark-session': db.session },
      body: JSON.stringify({ queryHandle: handle }),
    });
}

// R004-43 R004-52
test('no file of the client or the page knows how rows are ordered', () => {
  const folders = ['../../clients/js/', '../../web/', '../../examples/chat/'];
  let count = 0;
  for (const folder of folders.map((path) => new URL(path, import.meta.url)))
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.js'))) {
      const words = readFileSync(new URL(name, folder), 'utf8');
      assert.doesNotMatch(words, /\.sort\(|localeCompare|\bcursor\s*[:=](?!\s*pointer)|\boffset\b/i, name);
      count++;
    }
  assert.ok(count >= 8);
});

test('what somebody on the way refuses in words of his own is told at once', async () => {
  let asked = 0;
  const fetch = async () => {
    asked++;
    return new Response('<h1>403 Forbidden</h1>', { status: 403 });
  };
  const db = connect('http://127.0.0.1/', { fetch });
  await assert.rejects(db.open('posts'), (error) =>
    error instanceof TidemarkError && error.status === 403 && !error.retryable &&
    /HTTP 403/.test(error.message));
  assert.equal(asked, 1);
});

describe('the client', () => {
  let daemon;
  let db;
  let all;

  before(async () => {
    daemon = await Daemon.start();
    await daemon.end();
    daemon.sql(`
      WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${ROWS})
      INSERT INTO gaps (source, stream, from_us, to_us, reason, detected_us, seq)
      SELECT 's', 't' || n, n, n + 1, 'a test', 1000000 * (n / 7), 1 FROM c;
      UPDATE engine SET next_n = next_n + ${ROWS};`);
    await daemon.begin();
    all = await collect(await connect(daemon.url).open('gaps'));
  });
  beforeEach(() => {
    daemon.proxy.calm();
    daemon.proxy.seen = [];
    daemon.proxy.struck = 0;
    db = connect(daemon.url, { attempts: 6 });
  });
  after(() => daemon.remove());

  // R004-51 R004-12 R004-13 R004-14 R004-16
  test('walks 392 rows in pages of 100, and names every page', async () => {
    const handle = await db.open('gaps', { pageSize: 100 });
    assert.equal(handle.totalCount, ROWS);
    const pages = [];
    for await (const page of handle.pages()) pages.push(page);
    await handle.close();
    assert.deepEqual(pages.map((page) => page.items.length), [100, 100, 100, 92]);
    assert.deepEqual(pages.map((page) => page.pageNumber), [0, 1, 2, 3]);
    assert.deepEqual(pages.map((page) => page.hasMore), [true, true, true, false]);
    assert.equal(new Set(idsOf(pages.flatMap((page) => page.items))).size, ROWS);
    const asked = daemon.proxy.seen.filter(({ path }) => path.endsWith('/query-next'));
    assert.deepEqual(asked.map(({ params }) => params.page), [0, 1, 2, 3]);
  });

  test('goes on after the end without an error', async () => {
    const handle = await db.open('gaps', { pageSize: 392 });
    assert.equal((await handle.next()).items.length, ROWS);
    for (let i = 0; i < 3; i++) {
      const page = await handle.next();
      assert.deepEqual([page.items, page.hasMore], [[], false]);
    }
  });

  for (const fault of ['request', 'reply', 'cut']) {
    // R004-16
    test(`loses no row when every ${fault} is lost once`, async () => {
      const met = new Set();
      daemon.proxy.strike((path, params) => {
        const question = path + JSON.stringify(params);
        if (met.has(question)) return undefined;
        met.add(question);
        return fault;
      });
      const handle = await db.open('gaps', { pageSize: 100 });
      assert.deepEqual(idsOf(await collect(handle)), idsOf(all));
      await handle.close();
      assert.ok(daemon.proxy.struck >= 5, `${daemon.proxy.struck} faults`);
    });
  }

  test('gives up with a word, and can be asked again', async () => {
    const impatient = connect(daemon.url, { attempts: 2 });
    const handle = await impatient.open('gaps', { pageSize: 100 });
    const first = await handle.next();
    daemon.proxy.strike(() => 'reply');
    await assert.rejects(handle.next(), (error) => {
      assert.ok(error instanceof TidemarkError);
      return error.code === 'UNREACHABLE';
    });
    assert.equal(daemon.proxy.struck, 2);
    daemon.proxy.calm();
    assert.deepEqual(idsOf([...first.items, ...(await collect(handle))]), idsOf(all));
  });

  test('goes on unnoticed wherever the handle expires', async () => {
    for (let expired = 0; expired < 4; expired++) {
      const handle = await db.open('gaps', { pageSize: 100 });
      const rows = [];
      for (let page = 0; page < 4; page++) {
        if (page === expired) await forget(daemon, db);
        const { items, pageNumber } = await handle.next();
        assert.equal(pageNumber, page);
        rows.push(...items);
      }
      rows.push(...(await collect(handle)));
      assert.deepEqual(idsOf(rows), idsOf(all));
    }
  });

  test('goes on from the last row, not from the beginning', async () => {
    const handle = await db.open('gaps', { pageSize: 20 });
    for (let page = 0; page < 15; page++) await handle.next();
    await forget(daemon, db);
    daemon.proxy.seen = [];
    const { items } = await handle.next();
    assert.equal(items[0].id, all[300].id);
    const asked = daemon.proxy.seen.map(({ path }) => path.split('/').at(-1));
    assert.deepEqual(asked, ['query-next', 'query-open', 'query-next']);
  });

  test('the way back is the way it came, expired or not', async () => {
    for (const expires of [false, true]) {
      const handle = await db.open('gaps', { pageSize: 100 });
      for await (const page of handle.pages()) assert.ok(page);
      if (expires) await forget(daemon, db);
      const back = [];
      let page;
      do {
        page = await handle.prev();
        back.unshift(...page.items);
        if (expires) await forget(daemon, db);
      } while (page.hasPrevious);
      // The page that the reader came from is not before itself.
      assert.deepEqual(idsOf(back), idsOf(all.slice(0, 300)));
      assert.deepEqual(idsOf([...page.items, ...(await collect(handle))]), idsOf(all));
    }
  });

  test('goes on after a power cut that took handles, and rows that were deleted', async () => {
    const handle = await db.open('gaps', { pageSize: 100 });
    const rows = [];
    for (let page = 0; page < 2; page++) rows.push(...(await handle.next()).items);
    await daemon.end('SIGKILL');
    daemon.loseHandles();
    const gone = [rows[199].id, rows[198].id];
    const moved = rows[197].id; // it changed: no good to go on from
    daemon.sql(`DELETE FROM gaps WHERE id IN (${gone});
      UPDATE gaps SET reason = 'changed' WHERE id = ${moved};`);
    await daemon.begin();
    rows.push(...(await collect(handle)));
    assert.deepEqual(idsOf(rows), idsOf(all));
    all = all.filter((row) => !gone.includes(row.id));
  });

  test('begins anew when no row of the last pages is left', async () => {
    const handle = await db.open('gaps', { pageSize: 10 });
    const rows = [];
    for (let page = 0; page < 6; page++) rows.push(...(await handle.next()).items);
    await daemon.end();
    daemon.loseHandles();
    const gone = idsOf(rows.slice(35));
    daemon.sql(`DELETE FROM gaps WHERE id IN (${gone});`);
    await daemon.begin();
    rows.push(...(await collect(handle)));
    assert.deepEqual(idsOf(rows), idsOf(all));
    all = all.filter((row) => !gone.includes(row.id));
  });

  test('goes on after a daemon that was killed', async () => {
    const handle = await db.open('gaps', { pageSize: 100 });
    const rows = [];
    for await (const row of handle) {
      rows.push(row);
      if (rows.length === 150) break;
    }
    await daemon.end('SIGKILL');
    await daemon.begin();
    rows.push(...(await collect(handle)));
    assert.deepEqual(idsOf(rows), idsOf(all));
  });

  test('two questions at once are answered one after the other', async () => {
    const handle = await db.open('gaps', { pageSize: 100 });
    const pages = await Promise.all([handle.next(), handle.next(), handle.next()]);
    assert.deepEqual(idsOf(pages.flatMap((page) => page.items)), idsOf(all.slice(0, 300)));
  });

  test('a question that is called off loses no page', async () => {
    const handle = await db.open('gaps', { pageSize: 100 });
    const stop = new AbortController();
    daemon.proxy.strike(() => {
      stop.abort(new Error('enough'));
      return 'reply';
    });
    await assert.rejects(handle.next({ signal: stop.signal }), /enough/);
    // The daemon may still be at work on it.
    let busy = 0;
    daemon.proxy.strike(() => (busy++ < 2 ? 'busy' : undefined));
    assert.deepEqual(idsOf(await collect(handle)), idsOf(all));
  });

  test('a handle that somebody else uses is told', async () => {
    const handle = await db.open('gaps', { pageSize: 100 });
    daemon.proxy.strike(() => 'busy');
    await assert.rejects(handle.next(), { code: 'CONFLICT', status: 409 });
    assert.equal(daemon.proxy.struck, 1);
  });

  // R004-09
  test('says what the daemon refuses', async () => {
    await assert.rejects(db.open('unheard_of'), { code: 'UNKNOWN_COLLECTION', status: 404 });
    await assert.rejects(db.open('gaps', { pageSize: 0 }), { code: 'LIMIT_RANGE', status: 400 });
    await assert.rejects(db.open('gaps', { filter: { nope: 1 } }), { code: 'UNKNOWN_FIELD' });
    assert.equal(daemon.proxy.seen.length, 3, 'a refusal is not asked again');
  });

  // R004-28
  test("another session's handle is not ours", async () => {
    const mine = await db.open('gaps');
    const [{ handle }] = daemon.handles(db.session);
    const answer = await fetch(new URL('api/data/query-next', daemon.url), {
      method: 'POST',
      headers: { 'tidemark-session': connect(daemon.url).session },
      body: JSON.stringify({ queryHandle: handle }),
    });
    assert.equal(answer.status, 403);
    assert.deepEqual(idsOf(await collect(mine)), idsOf(all));
  });

  // R004-51
  test('closing frees the handle, and closing twice does no harm', async () => {
    const handle = await db.open('gaps');
    assert.equal(daemon.handles(db.session).length, 1);
    await handle.close();
    await handle.close();
    assert.equal(daemon.handles(db.session).length, 0);
    await assert.rejects(handle.next(), { code: 'CLOSED' });
  });

  test('`await using` closes it', async () => {
    const handle = await db.open('gaps');
    await handle[Symbol.asyncDispose]();
    assert.ok(handle.closed);
  });
});
