// SPDX-License-Identifier: Apache-2.0
//
// The operator's page: the numbers of the API, and pictures that say what they show.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import { fill, gapSql } from './news_world.mjs';
import { Simulator } from './simulator.mjs';

/** "6.2 ms", "1.4 s" */
const milliseconds = (words) => parseFloat(words) * (words.endsWith('ms') ? 1 : 1000);

describe('the page at /status', () => {
  let simulator;
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;
  const get = async (path) => (await fetch(new URL(path, daemon.url))).text();
  const texts = (selector) =>
    page.eval(`[...document.querySelectorAll('${selector}')].map((e) => e.textContent)`);

  before(async () => {
    simulator = await Simulator.start('--rate', '10', '--start-us', 'now');
    daemon = await Daemon.start({ settings: simulator.settings });
    await fill(daemon, gapSql(nowUs).replace('the connection', '<b>the</b> connection') +
      `INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, at_us, times, seq)
       VALUES (1, 'jetstream', NULL, x'00', NULL, 12, 'not <i>JSON</i>', ${nowUs}, 3, 1);
       INSERT INTO owed (id, source, stream, item, state, attempts, next_us, since_us, seq)
       VALUES (1000001, 'cards', '', '1000001', 'dead', 5, -1, 1, 1),
              (1000002, 'cards', '', '1000002', 'dead', 5, -1, 1, 1);
       INSERT INTO backfill_queue (actor_did, priority, since_us, next_us, queued_us, asked_us)
       VALUES ('did:plc:far', 2, 1, ${nowUs + 86400e6}, ${nowUs}, ${nowUs});`);
    browser = await Browser.start();
    page = await browser.newPage();
    await page.open(new URL('/status', daemon.url).href);
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
    await simulator.stop();
  });

  test('says what /api/status says', async () => {
    const numbers = async () => (await texts('#sources tbody .number')).map(Number);
    // The network goes on: both are asked until nothing happened in between.
    await until(async () => {
      await page.open(new URL('/status', daemon.url).href);
      const status = JSON.parse(await get('/api/status'));
      const wanted = status.sources.flatMap((one) => [one.gaps, one.owed, one.dead, one.quarantine]);
      return isDeepStrictEqual(await numbers(), wanted) &&
        isDeepStrictEqual(await texts('#sources tbody th'), status.sources.map((one) => one.source)) &&
        (await texts('#providers tbody tr')).length === status.providers.length &&
        (await texts('#daemon dd')).includes(String(status.daemon.pid));
    }, 'the page to say what the API says');
  });

  test('has a headline that agrees with its parts, and no alarm for pages that died', async () => {
    assert.match((await texts('.standing'))[0],
      /^All parts work; 1 gap is being filled, 1 input is in quarantine\.$/);
    assert.deepEqual(await texts('#sources .notable'), ['1', '1']);
    const dead = await page.eval(`(() => {
      const row = [...document.querySelectorAll('#sources tbody tr')]
        .find((e) => e.firstChild.textContent === 'cards');
      const cell = row.querySelectorAll('.number')[2];
      return [Number(cell.textContent), cell.className];
    })()`);
    assert.ok(dead[0] >= 2);
    assert.equal(dead[1], 'number');
    assert.deepEqual(await texts('.bad'), []);
  });

  test('shows how far the work is, from the same numbers', async () => {
    const fact = (name) => page.eval(`[...document.querySelectorAll('#progress dl > div')]
      .find((e) => e.firstChild.textContent === '${name}')?.lastChild.textContent`);
    await fetch(new URL('/api/data/query-open', daemon.url), {
      method: 'POST', body: '{"collection": "posts"}',
    });
    // The network goes on: each is asked until nothing happened in between.
    const agree = (what, check) => until(async () => {
      await page.open(new URL('/status', daemon.url).href);
      const { progress, store } = JSON.parse(await get('/api/status'));
      return check(progress, store);
    }, `the page to say what the API says of ${what}`);
    await agree('open queries', async (progress) =>
      progress.handles_open === 1 && await fact('Open queries') === '1');
    await agree('latency', async (progress) => {
      // Every event moves these a little: they are the API's in order and kind.
      const shares = (await fact('From arrival to stored'))
        ?.match(/^typically ([0-9.]+ m?s), 95 % within ([0-9.]+ m?s), 99 % within ([0-9.]+ m?s)$/)
        ?.slice(1).map(milliseconds);
      return progress.commit_seconds.p99 > 0 && shares?.[0] > 0 &&
        shares[0] <= shares[1] && shares[1] <= shares[2];
    });
    await agree('the database', async (_, store) =>
      await fact('Database') === `${(store.bytes / 1048576).toFixed(1)} MiB`);
    await agree('histories', async ({ backfill }) =>
      backfill.queued > 0 && // one is not due before tomorrow
        await page.eval('document.querySelector("#progress progress")?.max') ===
          backfill.queued + backfill.completed &&
        await fact('Histories') === `${backfill.queued} to read, ${backfill.running} being read, ` +
          `${backfill.completed} read, ${backfill.failed} to be tried again`);
    await agree('imports', async ({ imports }) =>
      await fact('Imports') === `${imports.accounts} accounts, ${imports.running} running, ` +
        `${imports.completed} complete, ${imports.failed} failed`);
    assert.equal(await fact('Documents'), undefined); // no chain is followed here
  });

  test('has a line of gaps and of rates, in words too', async () => {
    assert.equal(await page.eval('document.querySelectorAll(".gap.open").length'), 1);
    assert.match(await page.eval('document.querySelector(".gap-line").getAttribute("aria-label")'),
      /1 open, 0 filled/);
    assert.match(await page.eval('document.querySelector(".gap title").textContent'),
      /open: <b>the<\/b> connection was lost/);
    await page.until('document.querySelector(".spark polyline") !== null');
    assert.match(await page.eval('document.querySelector(".spark").getAttribute("aria-label")'),
      /^Events a second over the last 10 minutes: now [0-9.]+, at most [0-9.]+$/);
  });

  test('shows what was refused, and what to do with it', async () => {
    assert.match((await texts('#quarantine tbody tr'))[0], /^1jetstream–.*123not <i>JSON<\/i>$/);
    assert.match((await texts('#quarantine .about'))[0], /tidemark quarantine retry ID/);
  });

  test('is made anew while it is open', async () => {
    const commits = () => page.eval(`[...document.querySelectorAll('#daemon div')]
      .find((e) => e.firstChild.textContent === 'Commits').lastChild.textContent`);
    const before = Number(await commits());
    await page.until(`Number([...document.querySelectorAll('#daemon div')]
      .find((e) => e.firstChild.textContent === 'Commits').lastChild.textContent) > ${before}`);
    assert.deepEqual(page.complaints, []);
  });

  test('fits a phone and needs no scripts', async () => {
    await page.viewport(360, 740, { phone: true });
    await page.scripts(false);
    await page.open(new URL('/status', daemon.url).href);
    assert.equal(await page.eval('document.documentElement.scrollWidth'), 360);
    assert.ok((await texts('#sources tbody th')).includes('jetstream'));
  });
});
