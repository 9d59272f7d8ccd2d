// SPDX-License-Identifier: Apache-2.0
//
// <tide-scroller> in a real browser, under the strictest policy, on a real daemon.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';

const ROWS = 392;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";
const clientFolder = new URL('../../clients/js/', import.meta.url);

function pageOf(element) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>
<link rel="stylesheet" href="/t/page.css"><script type="module" src="/client/tide-scroller.js">
</script><body>${element}</body></html>`;
}

const TEMPLATE = `<template><article><b data-field="stream"></b> <i data-field="reason"></i>
<time data-field="detectedAt"></time> <a data-href="reason">x</a></article></template>`;

describe('<tide-scroller>', () => {
  let daemon;
  let browser;
  let page;

  function show(attributes, path = '/t/page.html') {
    const element = `<tide-scroller ${attributes}>${TEMPLATE}<p slot="empty">nothing</p>
      </tide-scroller>`;
    daemon.proxy.serve(path, 'text/html', pageOf(element), {
      'content-security-policy': POLICY,
    });
    return page.open(new URL(path, daemon.url).href);
  }

  const list = 'document.querySelector("tide-scroller")';
  const viewport = `${list}.shadowRoot.querySelector("[part=viewport]")`;
  const ids = () => page.eval(`${list}.rows.map((row) => row.dataset.id)`);
  const toEnd = (down) => page.eval(`${viewport}.scrollTop = ${down ? 1e7 : 0}`);
  const descending = Array.from({ length: ROWS }, (_, i) => String(ROWS - i));

  before(async () => {
    daemon = await Daemon.start();
    await daemon.end();
    daemon.sql(`
      WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${ROWS})
      INSERT INTO gaps (source, stream, from_us, to_us, reason, detected_us, seq)
      SELECT 's', 't' || n, n, n + 1, '<b>a</b> javascript:alert(1)', 1000000 * n, 1 FROM c;
      UPDATE engine SET next_n = next_n + ${ROWS};`);
    await daemon.begin();
    for (const name of readdirSync(clientFolder).filter((file) => file.endsWith('.js')))
      daemon.proxy.serve(
        `/client/${name}`, 'text/javascript', readFileSync(new URL(name, clientFolder)));
    daemon.proxy.serve('/t/page.css', 'text/css',
      'html,body{height:100%;margin:0} tide-scroller{height:100%} article{min-height:3em}');
    browser = await Browser.start();
  });
  beforeEach(async () => {
    daemon.proxy.calm();
    daemon.proxy.seen = [];
    daemon.proxy.struck = 0;
    page = await browser.newPage();
  });
  afterEach(async () => {
    const { complaints } = page;
    await page.close();
    assert.deepEqual(complaints, []);
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
  });

  const nexts = () => daemon.proxy.seen.filter(({ path }) => path.endsWith('/query-next'));

  // R004-57 R004-51 R004-19
  test('scrolls 392 rows in pages of 100 to the end', async () => {
    await show('collection="gaps" page-size="100"');
    await page.until(`${list}.rows.length === 100`);
    for (const wanted of [200, 300, ROWS]) {
      await toEnd(true);
      await page.until(`${list}.rows.length === ${wanted}`);
    }
    await toEnd(true);
    assert.deepEqual(await ids(), descending);
    assert.deepEqual(nexts().map(({ params }) => params.page), [0, 1, 2, 3]);
  });

  test('shows what strangers wrote as text, and no address but http', async () => {
    await show('collection="gaps" page-size="10"');
    await page.until(`${list}.rows.length > 0`);
    const row = `${list}.rows[0]`;
    assert.match(await page.eval(`${row}.querySelector("i").textContent`), /^<b>a<\/b>/);
    assert.equal(await page.eval(`${row}.querySelectorAll("i *").length`), 0);
    assert.equal(await page.eval(`${row}.querySelector("a").hasAttribute("href")`), false);
    assert.match(await page.eval(`${row}.querySelector("time").dateTime`), /^1970-01-01T00:06:32/);
  });

  test('with flow="up" older rows come above, and the reader stays in place', async () => {
    await show('collection="gaps" page-size="100" flow="up"');
    await page.until(`${list}.rows.length === 100`);
    const distance = `${viewport}.scrollHeight - ${viewport}.clientHeight - ${viewport}.scrollTop`;
    assert.ok((await page.eval(distance)) < 2, 'it begins at the newest');
    const place = `(() => { const top = ${viewport}.getBoundingClientRect().top;
      const row = ${list}.rows.find((r) => r.getBoundingClientRect().bottom > top);
      return [row.dataset.id, Math.round(row.getBoundingClientRect().top)].join() })()`;
    await page.eval(`${viewport}.scrollTop = 400`);
    const before = await page.eval(place);
    await page.until(`${list}.rows.length === 200`);
    assert.equal(await page.eval(place), before);
    for (const wanted of [300, ROWS]) {
      await toEnd(false);
      await page.until(`${list}.rows.length === ${wanted}`);
    }
    assert.deepEqual(await ids(), [...descending].reverse());
  });

  test('a list that is shorter than the screen loads the rest by itself', async () => {
    await show('collection="gaps" page-size="5"');
    await page.until(`${list}.rows.length >= 20`);
  });

  test('goes on after the network was gone', async () => {
    await show('collection="gaps" page-size="100"');
    await page.until(`${list}.rows.length === 100`);
    let lost = 0;
    daemon.proxy.strike(() => (lost++ < 3 ? 'reply' : undefined));
    await toEnd(true);
    await page.until(`${list}.rows.length === 200`);
    await daemon.end('SIGKILL');
    await toEnd(true);
    await daemon.begin();
    // A start that takes longer than the client is patient leaves it to the reader.
    const trouble = `${list}.shadowRoot.querySelector("[part=trouble]")`;
    await page.until(`${list}.rows.length === 300 ||
      (!${trouble}.hidden && (${trouble}.querySelector("button").click(), false))`);
    await toEnd(true);
    await page.until(`${list}.rows.length === ${ROWS}`);
    assert.deepEqual(await ids(), descending);
    assert.equal(daemon.proxy.struck, 3);
  });

  test('an expiry goes unnoticed', async () => {
    await show('collection="gaps" page-size="100"');
    await page.until(`${list}.rows.length === 100`);
    const session = await page.eval(`${list}.db.session`);
    let expired = 0;
    for (let count = 100; count < ROWS; count = await page.eval(`${list}.rows.length`)) {
      await page.eval(`${list}.handle.release()`);
      assert.equal(daemon.handles(session).length, 0);
      await toEnd(true);
      await page.until(`${list}.rows.length > ${count}`);
      expired++;
    }
    assert.ok(expired >= 3, `${expired} expiries`);
    assert.deepEqual(await ids(), descending);
  });

  // R004-53
  test('says what is wrong, and tries again when it is told to', async () => {
    await show('collection="unheard_of"');
    const words = `${list}.shadowRoot.querySelector("[part=trouble]:not([hidden])").textContent`;
    assert.match(await page.until(words), /unheard_of/);
    assert.equal(await page.eval(`${list}.loadMore()`), false);
    assert.equal(nexts().length, 0);
    await page.eval(`${list}.setAttribute("collection", "gaps")`);
    await page.until(`${list}.rows.length > 0`);
  });

  // R004-51
  test('leaving the page closes the query', async () => {
    for (const leave of [() => page.open('about:blank'), () => page.eval(`${list}.remove()`)]) {
      await show('collection="gaps"');
      await page.until(`${list}.rows.length > 0`);
      const session = await page.eval(`${list}.db.session`);
      assert.equal(daemon.handles(session).length, 1);
      await leave();
      await until(() => daemon.handles(session).length === 0, 'the handle to be closed');
    }
  });

  test('is a feed of numbered articles, and the keyboard goes through it', async () => {
    await show('collection="gaps" page-size="100"');
    await page.until(`${list}.rows.length === 100`);
    const { nodes } = await page.send('Accessibility.getFullAXTree');
    assert.ok(nodes.some((node) => node.role?.value === 'feed'), 'a feed');
    const articles = nodes.filter((node) => node.role?.value === 'article');
    assert.equal(articles.length, 100);
    const focus = () => page.eval('document.activeElement.dataset.id');
    await page.eval(`${list}.rows[0].focus()`);
    for (let i = 1; i <= 3; i++) {
      await page.press('PageDown');
      assert.equal(await focus(), descending[i]);
    }
    await page.press('PageUp');
    assert.equal(await focus(), descending[2]);
    await page.press('Control+End');
    assert.equal(await focus(), descending[99]);
    assert.equal(await page.eval('document.activeElement.ariaPosInSet'), '100');
  });

  test('what was told while a page was on its way beats what the page says', async () => {
    const source = `{ open: async () => ({
      next: () => new Promise((resolve) => { window.deliver = resolve; }),
      close() {},
      async *tail() {
        for (;;) yield await new Promise((resolve) => { window.change = resolve; });
      },
    }) }`;
    const row = (id, reason) => ({ id, reason });
    const waiting = (name) => page.until(`typeof window.${name} === 'function'`);
    const hand = async (name, what) => {
      await waiting(name);
      const given = JSON.stringify(what);
      await page.eval(`{ const hand = ${name}; ${name} = undefined; hand(${given}) }`);
    };
    await show('live');
    await page.until(`customElements.get('tide-scroller') !== undefined`);
    await page.eval(`${list}.addEventListener('tide-change', ({ detail }) => {
      window.flushed = (window.flushed ?? 0) + detail.changes.length;
    }); ${list}.source = ${source}`);
    await hand('deliver', { items: [row('first', 'a')], hasMore: true });
    await waiting('deliver');
    await hand('change', { op: 'leave', item: { id: 'gone' } });
    await hand('change', { op: 'update', item: row('changed', 'new') });
    await page.until('window.flushed === 2');
    await hand('deliver', { items: [row('gone', 'b'), row('changed', 'old')], hasMore: false });
    await page.until(`${list}.rows.length > 1`);
    assert.deepEqual(await ids(), ['first', 'changed']);
    assert.equal(await page.eval(`${list}.rows[1].querySelector('i').textContent`), 'new');
  });

  test('who tries again after changes could not be heard hears them', async () => {
    await show('live');
    await page.until(`customElements.get('tide-scroller') !== undefined`);
    await page.eval(`{ let tails = 0; ${list}.source = { open: async () => ({
      next: async () => ({ items: [{ id: 'first' }], hasMore: false }),
      close() {},
      async *tail() {
        if (tails++ === 0) throw new Error('not heard');
        yield { op: 'enter', item: { id: 'second' } };
      },
    }) } }`);
    const trouble = `${list}.shadowRoot.querySelector("[part=trouble]")`;
    await page.until(`!${trouble}.hidden`);
    assert.deepEqual(await ids(), ['first']);
    await page.eval(`${trouble}.querySelector("button").click()`);
    await page.until(`${list}.rows.length === 2`);
    assert.equal(await page.eval(`${trouble}.hidden`), true);
  });

  test('who has just scrolled away from the edge is not pulled back by a change', async () => {
    await show('live flow="up"');
    await page.until(`customElements.get('tide-scroller') !== undefined`);
    const first = JSON.stringify(Array.from({ length: 100 }, (_, i) => ({ id: `r${i}` })));
    await page.eval(`${list}.source = { open: async () => ({
      next: async () => ({ items: ${first}, hasMore: false }),
      close() {},
      async *tail() {
        for (;;) yield await new Promise((resolve) => { window.change = resolve; });
      },
    }) }`);
    await page.until(`typeof window.change === 'function'`);
    await page.until(`${viewport}.scrollTop > 0`);
    // The change comes before the browser has told of the scrolling.
    const top = await page.eval(`(async () => {
      const later = window.setTimeout;
      const flush = new Promise((resolve) => { window.setTimeout = resolve; });
      window.change({ op: 'enter', item: { id: 'new' } });
      const show = await flush;
      window.setTimeout = later;
      ${viewport}.scrollTop = 0;
      show();
      return ${viewport}.scrollTop;
    })()`);
    assert.equal(top, 0);
    assert.equal((await ids()).at(-1), 'new');
  });

  test('a row between two that are heard of later is placed with them', async () => {
    await show('live="sorted"');
    await page.until(`customElements.get('tide-scroller') !== undefined`);
    await page.eval(`{
      const places = {
        a: { before: 'first', after: 'b' }, b: { before: 'a', after: 'c' },
        c: { before: 'b', after: 'last' },
      };
      window.asked = [];
      ${list}.source = { open: async () => ({
        next: async () => ({ items: [{ id: 'first' }, { id: 'last' }], hasMore: false }),
        close() {},
        async neighbours(id) { window.asked.push(id); return places[id]; },
        async *tail() {
          for (;;) yield await new Promise((resolve) => { window.change = resolve; });
        },
      }) };
    }`);
    const enter = (id) => page.eval(`{ const tell = window.change; window.change = undefined;
      tell({ op: 'enter', item: { id: '${id}' } }) }`);
    const told = async (id) => {
      await page.until(`typeof window.change === 'function'`);
      await enter(id);
      await page.until(`window.asked.includes('${id}')`);
    };
    await told('b');
    assert.deepEqual(await ids(), ['first', 'last']);
    await told('c');
    await told('a');
    await page.until(`${list}.rows.length === 5`);
    assert.deepEqual(await ids(), ['first', 'a', 'b', 'c', 'last']);
  });

  test('an empty result says so', async () => {
    await show('collection="gaps" filter=\'{"source":"nobody"}\'');
    await page.until(`${list}.shadowRoot.querySelector("[part=empty]:not([hidden])") !== null`);
  });
});
