// SPDX-License-Identifier: Apache-2.0
//
// Pictures on the pages of links: they come from the daemon, and nobody else is asked for anything.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import { articlesSql, fill, linkSql, peopleSql } from './news_world.mjs';
import { Simulator } from './simulator.mjs';

const PORTRAITS = '[...document.querySelectorAll(".portrait")]';
const HOSTILE = 1003; // of the people who share the first link
const PICTURES = '[...document.querySelectorAll(".picture")]';

describe('pictures on the page at /', () => {
  let simulator;
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;

  const open = (path = '/') => page.open(new URL(path, daemon.url).href);
  const sizes = () => page.eval(`${PICTURES}.map((p) => p.naturalWidth)`);
  /** What stands where, but for what is inside a picture. */
  const places = () => page.eval(`[...document.querySelectorAll('.link')].map((link) => {
    const { top, height } = link.getBoundingClientRect();
    return [top + scrollY, height];
  })`);
  /** Opens the page until it has its good pictures, which are the first three: others are lazy. */
  const openWhole = (path) => until(async () => {
    await open(path);
    await page.until(`${PICTURES}.length === 7 && ${PICTURES}.slice(0, 3).every((p) => p.complete)`);
    return (await sizes()).slice(0, 3).every((width) => width > 0);
  }, 'the pictures to be fetched');

  before(async () => {
    simulator = await Simulator.start('--events', '5', '--slow-page-ms', '600000');
    daemon = await Daemon.start({ settings: ['fetch.allow_private=true'] });
    const at = (path) => `http://${simulator.address}/picture/${path}`;
    const bad = ['html', 'svg', 'huge', 'inward'].map((kind, i) => [
      linkSql(20 + i, {
        title: `A page with ${kind} for a picture`, about: null, domain: 'hostile.example', people: 1,
        ageMinutes: 60,
      }, nowUs),
      `UPDATE links SET image_url = '${at(`${kind}/1`)}' WHERE id = ${20 + i};`,
    ].join('\n'));
    await fill(daemon, [
      peopleSql(), articlesSql(nowUs),
      `UPDATE links SET image_url = '${at('good/')}' || id WHERE id <= 3;`, ...bad,
      // Of the people every other one has a portrait, and one what is none.
      `UPDATE actors SET avatar = '${at('good/')}' || id WHERE id % 2 = 1;`,
      `UPDATE actors SET avatar = '${at('svg/')}' || id WHERE id = ${HOSTILE};`,
    ].join('\n'));
    browser = await Browser.start();
  });
  after(async () => {
    await browser?.stop();
    await daemon?.remove();
    await simulator?.stop();
  });
  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage();
  });

  test('come from the daemon, and nothing else is asked of anybody', async () => {
    await openWhole('/');
    assert.deepEqual((await sizes()).slice(0, 3), [32, 32, 32]);
    const elsewhere = page.asked.filter((url) => /^\w+:\/\//.test(url) && !url.startsWith(daemon.url));
    assert.deepEqual(elsewhere, []);
    assert.equal(page.asked.filter((url) => url.includes('/image/')).length > 0, true);
    assert.deepEqual(page.complaints, []);
    assert.notEqual(await page.eval('document.title'), 'taken');
  });

  test('are lazy, say nothing to a screen reader, and have their room from the start', async () => {
    await open();
    const first = await page.eval(`(({ loading, decoding, alt, width, height }) =>
      ({ loading, decoding, alt, ratio: Math.round((width / height) * 9) }))(${PICTURES}[0])`);
    assert.deepEqual(first, { loading: 'lazy', decoding: 'async', alt: '', ratio: 16 });
    assert.equal(await page.eval('document.querySelectorAll(".link:not(.pictured) .picture").length'), 0);
  });

  test('what is no picture leaves its box empty and everything in its place', async () => {
    await openWhole('/');
    const bad = `${PICTURES}.slice(3)`;
    await page.eval(`${bad}.forEach((p) => p.loading = 'eager')`);
    await page.until(`${bad}.length === 4 && ${bad}.every((p) => p.complete)`);
    assert.deepEqual((await sizes()).slice(3), [0, 0, 0, 0]);
    const before = await places();
    await page.eval(`${PICTURES}.forEach((p) => p.removeAttribute('src'))`);
    assert.deepEqual(await places(), before);
  });

  test('people have portraits from the daemon, on the page and beside their posts', async () => {
    for (const path of ['/', '/links/1']) {
      const good = `${PORTRAITS}.filter((p) => !p.src.includes('did:plc:${HOSTILE - 1001}-'))`;
      await until(async () => {
        await open(path);
        await page.eval(`${PORTRAITS}.forEach((p) => p.loading = 'eager')`);
        await page.eval('document.querySelectorAll(".more").forEach((more) => more.open = true)');
        await page.until(`${PORTRAITS}.every((p) => p.complete)`);
        return page.eval(`${good}.length > 0 && ${good}.every((p) => p.naturalWidth === 32)`);
      }, 'the portraits');
      const seen = await page.eval(`(({ alt, width, height }) => ({ alt, width, height }))(${good}[0])`);
      assert.deepEqual(seen, { alt: '', width: seen.height, height: seen.height });
      assert.equal(await page.eval(`${good}.every((p) => p.closest('[aria-hidden=true]') !== null)`), true);
    }
    assert.equal(await page.eval(`${PORTRAITS}.some((p) => p.closest('.posts') !== null)`), true);
    const elsewhere = page.asked.filter((url) => /^\w+:\/\//.test(url) && !url.startsWith(daemon.url));
    assert.deepEqual(elsewhere, []);
    assert.deepEqual(page.complaints, []);
  });

  test('a person without a portrait, or with a hostile one, has a letter', async () => {
    await open('/links/1');
    const hostile = `document.querySelector('.portrait[src*="did:plc:${HOSTILE - 1001}-"]')`;
    await page.eval(`${hostile}.loading = 'eager'`);
    await page.until(`${hostile}.complete`);
    assert.equal(await page.eval(`${hostile}.naturalWidth`), 0);
    assert.equal(await page.eval(`${hostile}.parentElement.textContent`), 'C');
    // Over what a browser draws for it.
    assert.equal(await page.eval(`getComputedStyle(${hostile}, '::after').content`), '"C"');
    assert.equal(await page.eval('document.querySelectorAll(".face:not(:has(.portrait))").length > 0'), true);
  });

  test('stand on the page of a link, too, and a link without one has no box', async () => {
    await until(async () => {
      await open('/links/1');
      await page.until(`${PICTURES}.every((p) => p.complete)`);
      return (await sizes()).join() === '32';
    }, 'the picture of the link');
    const { width, height } = await page.eval(`(({ width, height }) => ({ width, height }))(${PICTURES}[0])`);
    assert.equal(Math.round((width / height) * 9), 16);
    await open('/links/5');
    assert.deepEqual(await sizes(), []);
    assert.deepEqual(page.complaints, []);
  });

  test('are there without scripts, on a phone, in the dark and when it is dense', async () => {
    await page.scripts(false);
    await page.colours('dark');
    await page.viewport(390, 844, { phone: true });
    for (const path of ['/', '/?layout=dense']) {
      await openWhole(path);
      const { cssContentSize } = await page.send('Page.getLayoutMetrics');
      assert.equal(cssContentSize.width, 390);
    }
  });
});
