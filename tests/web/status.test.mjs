// SPDX-License-Identifier: Apache-2.0
//
// The operator's page: the numbers of the API, and pictures that say what they show.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import { fill, gapSql, refusedSql } from './news_world.mjs';
import { Simulator } from './simulator.mjs';

/** "6.2 ms", "1.4 s" */
const milliseconds = (words) => parseFloat(words) * (words.endsWith('ms') ? 1 : 1000);

describe('the page at /status', () => {
  let simulator;
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;
  const texts = (selector) =>
    page.eval(`[...document.querySelectorAll('${selector}')].map((e) => e.textContent)`);

  /** A daemon with too much to do answers in a page of its own: it is asked again. */
  const openStatus = () => until(async () => {
    await page.open(new URL('/status', daemon.url).href);
    return page.eval("document.querySelector('#sources') !== null");
  }, 'the page to be shown');

  /** What the page says now, and the API's status, asked for at once; null: one was refused. */
  const readBoth = () => page.eval(`(async () => {
      const ask = (path, type) => new Promise((resolve) => {
        const request = new XMLHttpRequest();
        request.open('GET', path);
        request.responseType = type;
        request.onloadend = () => resolve(request.status === 200 ? request.response : null);
        request.send();
      });
      const [made, status] = await Promise.all([ask('/status', 'document'), ask('/api/status', 'json')]);
      if (!made || !status) return null;
      const all = (selector) => [...made.querySelectorAll(selector)];
      const words = (selector) => all(selector).map((e) => e.textContent);
      const shown = {
        standing: words('.standing')[0],
        notable: words('#sources .notable'),
        bad: words('.bad'),
        sources: all('#sources tbody tr').map((row) => ({
          name: row.firstChild?.textContent,
          numbers: [...row.querySelectorAll('.number')].map((e) => Number(e.textContent)),
          kinds: [...row.querySelectorAll('.number')].map((e) => e.className),
        })),
        providers: all('#providers tbody tr').length,
        daemon: words('#daemon dd'),
        facts: Object.fromEntries(all('#progress dl > div').map(
          (e) => [e.firstChild?.textContent, e.lastChild?.textContent])),
        histories: made.querySelector('#progress progress')?.max,
      };
      return { shown, status };
    })()`);

  /** The network goes on: both are read until nothing happened in between. */
  async function agree(what, check) {
    let both = null;
    await until(async () => {
      both = await readBoth();
      return both !== null && check(both.shown, both.status);
    }, `the page to agree on ${what}`).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(both)}`);
    });
  }

  before(async () => {
    simulator = await Simulator.start('--rate', '10', '--start-us', 'now');
    daemon = await Daemon.start({ settings: simulator.settings });
    await fill(daemon, gapSql(nowUs).replace('the connection', '<b>the</b> connection') +
      refusedSql(nowUs) +
      `INSERT INTO owed (id, source, stream, item, state, attempts, next_us, since_us, seq)
       VALUES (1000001, 'cards', '', '1000001', 'dead', 5, -1, 1, 1),
              (1000002, 'cards', '', '1000002', 'dead', 5, -1, 1, 1);
       INSERT INTO backfill_queue (actor_did, priority, since_us, next_us, queued_us, asked_us)
       VALUES ('did:plc:far', 2, 1, ${nowUs + 86400e6}, ${nowUs}, ${nowUs});`);
    browser = await Browser.start();
    page = await browser.newPage();
    await openStatus();
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
    await simulator.stop();
  });

  test('says what /api/status says', async () => {
    // What runs comes first, as in the terminal.
    const ranked = (sources) => [...sources.filter(({ state }) => state !== null),
      ...sources.filter(({ state }) => state === null)];
    await agree('sources and daemon', (shown, { sources, providers, daemon: { pid } }) =>
      isDeepStrictEqual(shown.sources.map(({ name, numbers }) => [name, ...numbers]),
        ranked(sources).map((one) => [one.source, one.gaps, one.owed, one.dead, one.quarantine])) &&
      ranked(sources)[0].source === 'jetstream' &&
      shown.providers === providers.length && shown.daemon.includes(String(pid)));
  });

  test('has a headline that agrees with its parts, and no alarm for pages that died', async () => {
    await agree('the headline', ({ standing, notable, bad, sources }) => {
      const cards = sources.find(({ name }) => name === 'cards');
      return standing === 'All parts work; 1 gap is being filled, 1 input is in quarantine.' &&
        isDeepStrictEqual(notable, ['1', '1']) && isDeepStrictEqual(bad, []) &&
        cards?.numbers[2] >= 2 && cards.kinds[2] === 'number';
    });
  });

  test('shows how far the work is, from the same numbers', async () => {
    await until(async () => (await fetch(new URL('/api/data/query-open', daemon.url), {
      method: 'POST', body: '{"collection": "posts"}',
    })).ok, 'a query to be opened');
    await agree('open queries', ({ facts }, { progress }) =>
      progress.handles_open === 1 && facts['Open queries'] === '1');
    await agree('latency', ({ facts }, { progress }) => {
      // Every event moves these a little: they are the API's in order and kind.
      const shares = facts['From arrival to stored']
        ?.match(/^typically ([0-9.]+ m?s), 95 % within ([0-9.]+ m?s), 99 % within ([0-9.]+ m?s)$/)
        ?.slice(1).map(milliseconds);
      return progress.commit_seconds.p99 > 0 && shares?.[0] > 0 &&
        shares[0] <= shares[1] && shares[1] <= shares[2];
    });
    await agree('the database', ({ facts }, { store }) =>
      facts.Database === `${(store.bytes / 1048576).toFixed(1)} MiB`);
    await agree('histories', ({ facts, histories }, { progress: { backfill } }) =>
      backfill.queued > 0 && // one is not due before tomorrow
        histories === backfill.queued + backfill.completed &&
        facts.Histories === `${backfill.queued} to read, ${backfill.running} being read, ` +
          `${backfill.completed} read, ${backfill.failed} to be tried again`);
    await agree('imports', ({ facts }, { progress: { imports } }) =>
      facts.Imports === `${imports.accounts} accounts, ${imports.complete} complete, ` +
        `${imports.running} running, ${imports.failing} failing`);
    await agree('documents', ({ facts }) => facts.Documents === undefined); // no chain is followed
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

  test('shows what was refused as text, and how to deal with it', async () => {
    assert.deepEqual(await texts('.refused .why'), ['not <i>JSON</i>']);
    assert.match((await texts('.refused .origin'))[0], /^#1 from jetstream; 36 bytes; came 3 times/);
    assert.deepEqual(await texts('.refused pre'), ['</pre><img src=x onerror=alert(1)>\\x0a\\xff']);
    assert.deepEqual(await texts('.refused button'), ['Try again', 'Drop']);
    assert.match((await texts('#quarantine .about'))[0], /tidemark quarantine retry ID/);
  });

  test('is made anew while it is open', async () => {
    const commits = `Number([...document.querySelectorAll('#daemon div')]
      .find((e) => e.firstChild?.textContent === 'Commits')?.lastChild.textContent)`;
    const before = await page.until(commits);
    await page.until(`${commits} > ${before}`);
    assert.deepEqual(page.complaints, []);
  });

  test('fits a phone and needs no scripts', async () => {
    await page.viewport(360, 740, { phone: true });
    await page.scripts(false);
    await openStatus();
    assert.equal(await page.eval('document.documentElement.scrollWidth'), 360);
    assert.ok(await page.eval(
      "document.querySelector('.gap-line text').getBoundingClientRect().height >= 9"), 'hours to be read');
    assert.ok((await texts('#sources tbody th')).includes('jetstream'));
    await page.eval("document.querySelector('.refused form[action*=retry] button').click()");
    await page.until("document.querySelector('h1')?.textContent === 'This cannot be shown'");
    assert.match((await texts('.notice'))[0], /no JSON|no whole zstd frame/);
    await page.eval("document.querySelector('main a').click()"); // there is a way back
    await page.until("document.querySelector('.refused') !== null");
    assert.equal(await page.eval('location.pathname + location.hash'), '/status#quarantine');
    await page.eval("document.querySelector('.refused form[action*=drop] button').click()");
    await page.until(
      "document.querySelector('#quarantine')?.textContent.includes('Nothing that came was refused.')");
    assert.equal(await page.eval('location.hash'), '#quarantine');
  });
});

describe('the page at /status of a daemon that has done nothing yet', () => {
  let daemon;
  let browser;
  let page;
  const heads = `[...document.querySelectorAll('h2')].map((e) => e.textContent).join()`;

  before(async () => {
    daemon = await Daemon.start();
    browser = await Browser.start();
    page = await browser.newPage();
    await page.open(new URL('/status', daemon.url).href);
  });
  after(async () => {
    await browser?.stop();
    await daemon?.remove();
  });

  test('has no heading over nothing, and gets one when there is something', async () => {
    await page.until('document.querySelector(".theme") !== null');
    assert.equal(await page.eval(heads),
      'Sources,Under way,Gaps of the last 24 hours,Quarantine,Daemon');
    assert.match(await page.eval('document.querySelector("#sources").textContent'),
      /No source has been followed yet\./);
    await page.keep('status-empty');
    const nowUs = Date.now() * 1000;
    await fill(daemon, `${gapSql(nowUs)}
      INSERT INTO providers (source, name, state, reason, updated_us)
      VALUES ('jetstream', 'far', 'open', 'gone', ${nowUs});`);
    await page.until(`${heads} ===
      'Sources,Under way,Gaps of the last 24 hours,Providers,Quarantine,Daemon'`);
    assert.match(await page.eval('document.querySelector("#providers").textContent'), /far.*open.*gone/);
    await page.until('document.querySelectorAll("#sources tbody tr").length === 1');
    // It is told while the daemon is away, and forgotten when it is back.
    await page.until('document.querySelector(".offline").hidden');
    assert.deepEqual(page.complaints.filter((words) => !/ERR_|Failed to load/.test(words)), []);
  });
});
