// SPDX-License-Identifier: Apache-2.0
//
// Pictures on the pages of links: they come from the daemon, and nobody else is asked for anything.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import { articlesSql, fill, linkSql, peopleSql } from './news_world.mjs';
import { Simulator } from './simulator.mjs';

const PICTURES = '[...document.querySelectorAll(".picture")]';

describe('pictures on the page at /', () => {
  let simulator;
  let daemon;
  let browser;
  let page;
  let asked; // by the browser, of whomever
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
    await page.until(`${PICTURES}.slice(0, 3).every((p) => p.complete)`);
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
    asked = [];
    browser.listen(({ method, params }) =>
      method === 'Network.requestWillBeSent' && asked.push(params.request.url));
  });

  test('come from the daemon, and nothing else is asked of anybody', async () => {
    await openWhole('/');
    assert.deepEqual((await sizes()).slice(0, 3), [32, 32, 32]);
    const elsewhere = asked.filter((url) => /^\w+:\/\//.test(url) && !url.startsWith(daemon.url));
    assert.deepEqual(elsewhere, []);
    assert.equal(asked.filter((url) => url.includes('/image/')).length > 0, true);
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
      const { root } = await page.send('DOM.getDocument');
      const { nodeIds } = await page.send('DOM.querySelectorAll', {
        nodeId: root.nodeId, selector: '.picture',
      });
      assert.equal(nodeIds.length, 7);
      const { cssContentSize } = await page.send('Page.getLayoutMetrics');
      assert.equal(cssContentSize.width, 390);
    }
  });
});
