// SPDX-License-Identifier: Apache-2.0
//
// The files of the pages: every address on a page answers, and those of files hold a hash of what is
// there, so that it can be kept for ever.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon } from './daemon.mjs';
import { articlesSql, fill, gapSql, peopleSql } from './news_world.mjs';

const PAGES = ['/', '/?hours=72&layout=dense', '/?author=did:plc:3', '/?domain=harbourpost.example',
  '/?q=no-such-word', '/?hours=none', '/links/1', '/links/none', '/status'];
const LASTING = /^\/assets\/([\w-]+)\.([0-9a-f]{16})\.(\w+)$/;
const WEIGHT_MAX = 60 * 1024;

/** Where the elements of a page lead to, as far as it is here. */
function addressesIn(html, base) {
  return [...html.matchAll(/\b(?:href|src|action)="([^"]*)"/g)]
    .filter(([, address]) => !address.startsWith('#'))
    .map(([, address]) => new URL(address.replaceAll('&amp;', '&'), base))
    .filter((url) => url.origin === new URL(base).origin)
    .map((url) => url.pathname + url.search);
}

const importsIn = (script) =>
  [...script.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(([, name]) => name);

describe('the files of the pages', () => {
  let daemon;
  let browser;
  const nowUs = Date.now() * 1000;
  const get = (path) => fetch(new URL(path, daemon.url));
  const bytesOf = async (answer) => Buffer.from(await answer.arrayBuffer());

  /** The bytes of an answer as they travel to a browser. */
  const weightOf = (path) => new Promise((resolve, reject) => {
    const headers = { 'Accept-Encoding': 'gzip' };
    request(new URL(path, daemon.url), { headers }, (answer) => {
      let weight = 0;
      answer.on('data', (data) => { weight += data.length; });
      answer.on('end', () => resolve(weight));
      answer.on('error', reject);
    }).on('error', reject).end();
  });

  /** All files that a page loads, as paths: those that it names, and what their modules import. */
  async function filesOf(page) {
    const html = await (await get(page)).text();
    const found = new Set(addressesIn(html, daemon.url).filter((path) => path.startsWith('/assets/')));
    for (const path of found) // grows meanwhile
      if (path.endsWith('.js'))
        for (const name of importsIn(await (await get(path)).text()))
          found.add(new URL(name, new URL(path, daemon.url)).pathname);
    return [...found];
  }

  before(async () => {
    daemon = await Daemon.start();
    await fill(daemon, peopleSql() + articlesSql(nowUs) + gapSql(nowUs));
    browser = await Browser.start();
  });
  after(async () => {
    await browser?.stop();
    await daemon?.remove();
  });

  test('have the hash of their bytes in their address, and are kept for ever', async () => {
    const all = new Set((await Promise.all(PAGES.map(filesOf))).flat());
    for (const name of ['page.css', 'page.js', 'status.js', 'live.js', 'memory.js', 'tidemark.svg'])
      assert.ok([...all].some((path) => path.startsWith(`/assets/${name.split('.')[0]}.`) &&
        path.endsWith(name.split('.')[1])), name);
    for (const path of all) {
      const [, , hash] = LASTING.exec(path) ?? assert.fail(`${path} has no hash`);
      const answer = await get(path);
      assert.equal(answer.status, 200, path);
      assert.match(answer.headers.get('cache-control'), /max-age=31536000, immutable/, path);
      const digest = createHash('sha256').update(await bytesOf(answer)).digest('hex');
      assert.equal(digest.slice(0, 16), hash, path);
    }
  });

  test('every address on every page answers', async () => {
    const seen = new Set();
    for (const page of PAGES) {
      const answer = await get(page);
      for (const path of addressesIn(await answer.text(), answer.url)) seen.add(path);
    }
    assert.ok(seen.size > 50);
    for (const path of seen) {
      const { status } = await get(path);
      assert.ok(status === 200 || path === '/health', `${path}: ${status}`); // or it is degraded
    }
  });

  test('make no markup and no code of text', async () => {
    const all = new Set((await Promise.all(PAGES.map(filesOf))).flat());
    for (const path of [...all].filter((name) => name.endsWith('.js')))
      assert.doesNotMatch(await (await get(path)).text(),
        /(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, path);
  });

  test('are at their plain names, too, as they lie in their folders', async () => {
    for (const [folder, name] of [['web', 'page.js'], ['web', 'page.css'], ['clients/js', 'tidemark.js']]) {
      const answer = await get(`/assets/${name}`);
      assert.equal(answer.headers.get('cache-control'), 'no-cache');
      const file = readFileSync(new URL(`../../${folder}/${name}`, import.meta.url));
      assert.deepEqual(await bytesOf(answer), file);
    }
    for (const name of ['page.0000000000000000.js', 'page.js.map', '../page.js', 'none'])
      assert.equal((await get(`/assets/${name}`)).status, 404, name);
  });

  test('are what a browser loads, and nothing of them twice', async () => {
    const page = await browser.newPage();
    for (const path of ['/', '/status']) {
      await page.open(new URL(path, daemon.url).href);
      await page.until('document.querySelector(".theme") !== null');
      const loaded = await page.eval(`performance.getEntriesByType('resource')
        .map((entry) => new URL(entry.name).pathname).filter((path) => path.startsWith('/assets/'))`);
      assert.deepEqual(loaded.filter((name) => !LASTING.test(name)), [], path);
      const modules = loaded.filter((name) => name.endsWith('.js'));
      assert.equal(new Set(modules).size, modules.length, path);
      assert.deepEqual(page.complaints, [], path);
    }
  });

  test('weigh at most 60 KiB with any page, as they travel', async () => {
    for (const page of [...PAGES, '/?hours=72&limit=100']) {
      const weights = await Promise.all([page, ...await filesOf(page)].map(weightOf));
      const weight = weights.reduce((sum, one) => sum + one);
      assert.ok(weights.length > 3 && weight <= WEIGHT_MAX, `${page}: ${weight} bytes`);
    }
  });
});
