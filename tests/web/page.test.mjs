// SPDX-License-Identifier: Apache-2.0
//
// The page at /, as a reader sees it: a daemon with a store of invented news, a real browser.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon } from './daemon.mjs';
import {
  ARTICLES, HOSTILE, articlesSql, fill, gapSql, hostileSql, linkSql, peopleSql, storySql,
  titleOf,
} from './news_world.mjs';

describe('the page at /', () => {
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;

  const address = (path) => new URL(path, daemon.url).href;
  const open = (path = '/') => page.open(address(path));
  const texts = (selector) =>
    page.eval(`[...document.querySelectorAll('${selector}')].map((e) => e.textContent)`);
  const titles = () => texts('.title');
  const ranked = async (query = '') =>
    (await (await fetch(address(`/api/trending?${query}`))).json()).links.map(titleOf);
  /** Does something that leads to another page, and waits for that. */
  const leave = async (deed) => {
    await page.eval(`(() => { window.isLeft = true; ${deed}; })()`);
    await page.until('!window.isLeft && document.readyState === "complete"');
  };
  const follow = (words) => leave(`[...document.querySelectorAll('main a')]
    .find((a) => a.textContent === ${JSON.stringify(words)}).click()`);

  before(async () => {
    daemon = await Daemon.start();
    await fill(daemon,
      peopleSql() + articlesSql(nowUs) + gapSql(nowUs) + hostileSql(nowUs) + storySql(nowUs));
    browser = await Browser.start();
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
  });
  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage();
  });

  test('lists what the API ranks, in its order, with people, words and the reason', async () => {
    await open();
    assert.deepEqual(await titles(), await ranked());
    assert.equal((await titles()).length, ARTICLES.length);
    assert.equal((await texts('.count b'))[0], '17');
    assert.match((await texts('.names'))[0], /^\S+ \S+, \S+ \S+, \S+ \S+ and 14 more$/);
    assert.match((await texts('.why'))[0], /^17 people shared it in the last 24 hours/);
    assert.equal((await texts('li:first-child .post')).length, 3);
    assert.match((await texts('.standing'))[0], /Complete since .*; 1 gap is being filled\./);
    assert.deepEqual(page.complaints, []);
  });

  test('works without scripts: times, orders, search, filters, sites and people', async () => {
    await page.scripts(false);
    await open();
    await follow('1 h');
    assert.equal(await page.eval('location.search'), '?hours=1');
    assert.deepEqual(await titles(), await ranked('hours=1'));
    await follow('Newest');
    assert.equal(await page.eval('location.search'), '?hours=1&sort=recent');
    assert.deepEqual(await titles(), await ranked('hours=1&sort=recent'));
    await open();
    await leave(`document.querySelector('[name=q]').value = 'KETTLE';
      document.querySelector('.search button').click()`);
    assert.match(await page.eval('location.search'), /q=KETTLE/);
    assert.deepEqual(await titles(), ['Your kettle is a clock']);
    await open();
    await leave(`document.querySelector('[name=min_shares]').value = '5';
      document.querySelector('[name=layout]').checked = true;
      document.querySelector('.fields button').click()`);
    assert.deepEqual(await titles(), await ranked('min_shares=5'));
    assert.equal(await page.eval('document.body.classList.contains("dense")'), true);
    await follow('harbourpost.example');
    assert.deepEqual(await titles(), await ranked('min_shares=5&domain=harbourpost.example'));
    await open();
    const [name] = (await texts('.person'));
    await follow(name);
    assert.equal((await texts('h1'))[0], `Shared by ${name}`);
    assert.ok((await titles()).length > 0);
  });

  test('shows all that was said about a link', async () => {
    await page.scripts(false);
    await open();
    assert.equal((await texts('li:first-child .post')).length, 3);
    await follow('All posts');
    assert.equal((await texts('.post')).length, ARTICLES[0][3]);
    assert.deepEqual(await texts('h1'), [ARTICLES[0][0]]);
  });

  test('says what is wrong and where to go on', async () => {
    await open('/?q=no+such+words+anywhere');
    assert.match((await texts('.empty'))[0], /Nobody has shared a link that fits this view/);
    await follow('Show everything that was shared');
    assert.equal((await titles()).length, ARTICLES.length);
    await open('/?hours=soon');
    assert.match((await texts('.notice'))[0], /hours is a number from 1 to 8760/);
  });

  test('shows hostile titles as text', async () => {
    await open('/?hours=72&domain=hostile.example');
    const shown = await titles();
    assert.deepEqual(shown.sort(), [
      HOSTILE[0], HOSTILE[1], `${'w'.repeat(300)}…`, HOSTILE[3],
    ].sort());
    assert.equal(await page.eval('document.title'), 'Tidemark: what is shared');
    assert.equal(await page.eval(`[...document.querySelectorAll('main a')]
      .some((a) => !/^https?:$/.test(a.protocol) && a.hasAttribute('href'))`), false);
    assert.equal(await page.eval(`document.querySelectorAll('main img, main script').length`), 0);
    // What turns letters around stays within its own element.
    assert.equal(await page.eval(`[...document.querySelectorAll('.title > *')]
      .every((e) => getComputedStyle(e).unicodeBidi === 'isolate')`), true);
    await page.viewport(390, 844, { phone: true });
    assert.equal(await page.eval('document.documentElement.scrollWidth'), 390);
    assert.deepEqual(page.complaints, []);
  });

  test('gives a page that says nothing a title of its address, with the address below', async () => {
    await open('/?domain=paste.example');
    assert.deepEqual(await texts('.title'), ['paste.example: 12']);
    assert.deepEqual(await texts('.address'), ['https://paste.example/12']);
    await open('/links/12');
    assert.deepEqual(await texts('h1'), ['paste.example: 12']);
    assert.deepEqual(await texts('.address'), ['https://paste.example/12']);
    await open('/links/1');
    assert.deepEqual(await texts('.address'), []);
  });

  test('tells a story once, and where else it is told', async () => {
    await open('/?hours=168&q=bridge');
    assert.deepEqual(await texts('.site'), ['first.example', 'third.example']);
    assert.deepEqual(await texts('.also'), ['also at second.example (3)']);
    assert.equal((await ranked('hours=168&q=bridge')).length, 3);
  });

  test('fits a phone', async () => {
    await page.viewport(360, 740, { phone: true });
    for (const path of ['/', '/?layout=dense', '/?author=did:plc:3', '/?hours=x', '/links/1']) {
      await open(path);
      assert.equal(await page.eval('document.documentElement.scrollWidth'), 360, path);
    }
  });

  test('follows the colours of the system, and a choice over them', async () => {
    const paper = () => page.eval('getComputedStyle(document.body).backgroundColor');
    const press = () => page.eval('document.querySelector(".theme").click()');
    await page.colours('light');
    await open();
    const light = await paper();
    await page.colours('dark');
    const dark = await paper();
    assert.notEqual(light, dark);
    await page.until('document.querySelector(".theme") !== null');
    await press();
    assert.equal(await paper(), light);
    await open();
    assert.equal(await paper(), light);
    await page.until('document.querySelector(".theme") !== null');
    await press();
    await press();
    assert.equal(await paper(), dark);
  });

  test('has a strict policy', async () => {
    const policy = (await fetch(daemon.url)).headers.get('content-security-policy');
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal((await fetch(address('assets/nothing.js'))).status, 404);
  });

  test('says so when a link has more posts than are shown', async () => {
    const at = nowUs - 3600e6;
    await fill(daemon, `${linkSql(80, { title: 'Talked about', about: null, domain: 'talk.example',
      people: 1, ageMinutes: 60 }, nowUs)}
      CREATE TEMP TABLE more AS WITH RECURSIVE counted(i) AS (
        SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 235) SELECT i FROM counted;
      INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us, body)
        SELECT 900000 + i, 1, 1001, 'app.bsky.feed.post', 'more' || i, 0, ${at} + i, 'Again'
        FROM more;
      INSERT INTO post_links (post_id, link_id, via, actor)
        SELECT 900000 + i, 80, 'post', 1001 FROM more;
      UPDATE share SET n_posts = 236 WHERE link_id = 80;`);
    await open('/links/80');
    assert.equal((await texts('.post')).length, 200);
    assert.equal((await texts('.source')).at(-1), 'The newest 200 posts');
    await open('/links/1');
    assert.equal((await texts('.source')).at(-1), `${ARTICLES[0][3]} posts`);
  });
});
