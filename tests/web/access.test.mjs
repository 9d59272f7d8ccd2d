// SPDX-License-Identifier: Apache-2.0
//
// Who cannot see the pages, or has no mouse, can use them: axe-core finds nothing to complain about,
// and neither does the browser.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Browser, shots } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import {
  articlesSql, fill, gapSql, hostileSql, peopleSql, refusedSql, storySql,
} from './news_world.mjs';
import { load } from './packages.mjs';

const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');

/** [name, path, status]: a view of everything that people open, and what goes wrong there. */
const PAGES = [
  ['news', '/', 200], ['dense', '/?layout=dense', 200], ['person', '/?author=did:plc:3', 200],
  ['site', '/?domain=harbourpost.example', 200], ['search', '/?q=kettle', 200],
  ['nothing', '/?q=nothing-at-all', 200], ['story', '/?hours=168&q=bridge', 200],
  ['hostile', '/?hours=72&domain=hostile.example', 200], ['link', '/links/1', 200],
  ['hostile-link', '/links/50', 200], ['status', '/status', 200], ['bad-view', '/?hours=none', 400],
  ['no-link', '/links/999', 404], ['no-number', '/links/none', 404], ['no-person', '/?author=nobody', 404],
  ['no-address', '/nowhere/at/all', 404],
];

describe('pages for everybody', () => {
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;
  /** Opens a page, lets its scripts do what they do, and hears what it has to complain about. */
  const open = async (path) => {
    await page.open(new URL(path, daemon.url).href);
    await page.until(`document.querySelector('script[type=module]') === null ||
      document.querySelector('.theme') !== null`);
    assert.deepEqual(page.complaints, [], path);
  };
  /** What axe-core has against the page, in words. */
  const violations = async () => {
    await page.eval(axe);
    return page.eval(`axe.run(document, { resultTypes: ['violations'] })
      .then(({ violations }) => violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ target, failureSummary }) => [id, help, target.join(' '), failureSummary].join('; '))))`);
  };

  before(async () => {
    daemon = await Daemon.start();
    const pictured = "UPDATE links SET image_url = 'http://127.0.0.1:9/' || id WHERE id % 3 > 0;";
    await fill(daemon, peopleSql() + articlesSql(nowUs) + gapSql(nowUs) + hostileSql(nowUs) +
      storySql(nowUs) + refusedSql(nowUs) + pictured);
    browser = await Browser.start();
  });
  after(async () => {
    await browser?.stop();
    await daemon?.remove();
  });
  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage();
  });

  for (const colours of ['light', 'dark'])
    test(`every page, in ${colours} colours, breaks no policy and has no barrier`, async () => {
      await page.colours(colours);
      for (const [name, path, status] of PAGES) {
        const answer = await fetch(new URL(path, daemon.url), { headers: { Accept: 'text/html' } });
        assert.equal(answer.status, status, path);
        assert.match(answer.headers.get('content-security-policy'), /^default-src 'none';/, path);
        await open(path);
        await page.keep(`${name}-${colours}`);
        assert.deepEqual(await violations(), [], path);
      }
    });

  test('with everything opened, on a phone', async () => {
    await page.viewport(390, 844, { phone: true });
    await open('/');
    await page.eval(`for (const part of document.querySelectorAll('details')) part.open = true`);
    await page.keep('opened-phone');
    assert.deepEqual(await violations(), []);
    for (const words of ['Saved', 'Muted', 'Keys']) {
      await page.eval(`[...document.querySelectorAll('.tools button')]
        .find((button) => button.textContent === '${words}').click()`);
      await page.screenshot(`${shots}/${words.toLowerCase()}-phone.png`);
      assert.deepEqual(await violations(), [], words);
      await page.click('dialog[open] .close');
    }
    for (const [name, path] of PAGES) {
      await open(path);
      await page.keep(`${name}-phone`);
      assert.equal(await page.eval('document.documentElement.scrollWidth'), 390, path);
    }
    assert.deepEqual(page.complaints, []);
  });

  test('programs are refused in their own words', async () => {
    for (const path of ['/nowhere/at/all', '/api/nothing']) {
      const answer = await fetch(new URL(path, daemon.url));
      assert.equal(answer.status, 404);
      assert.equal((await answer.json()).code, 'NOT_FOUND');
    }
    const asked = await fetch(new URL('/api/nothing', daemon.url), { headers: { Accept: 'text/html' } });
    assert.equal((await asked.json()).code, 'NOT_FOUND');
  });

  test('a page without a name for a field would be found out', async () => {
    await open('/');
    await page.eval(`document.querySelector('[name=q]').removeAttribute('aria-label');
      document.querySelector('[name=q]').removeAttribute('placeholder')`);
    assert.match((await violations()).join('\n'), /label/);
  });

  test('a page that breaks its policy would be found out', async () => {
    await open('/');
    await page.eval(`document.body.setAttribute('style', 'color: red')`);
    await page.until('document.body.hasAttribute("style")');
    await until(() => page.complaints.length > 0, 'a complaint');
  });
});
