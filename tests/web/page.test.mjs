// SPDX-License-Identifier: Apache-2.0
//
// The page at /, as a reader sees it: a simulated network, a daemon, a real browser.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import { Simulator } from './simulator.mjs';

describe('the page at /', () => {
  let simulator;
  let daemon;
  let browser;
  let page;

  const trending = async (query = 'limit=100') =>
    (await (await fetch(new URL(`api/trending?${query}`, daemon.url))).json()).links;
  const list = 'document.querySelector("tide-scroller")';
  const shown = () =>
    page.eval(`${list}.rows.map((row) => [row.querySelector("h2 a").textContent,
      row.querySelector("h2 a").href, Number(row.querySelector(".shares b").textContent)])`);

  before(async () => {
    simulator = await Simulator.start('--rate', '200', '--start-us', 'now', '--web-links', '100');
    daemon = await Daemon.start({ settings: simulator.settings });
    await until(async () => (await trending()).length >= 10, 'ten links');
    await simulator.stop();
    browser = await Browser.start();
    page = await browser.newPage();
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
  });

  test('lists what the API ranks, in its order', async () => {
    // The last events of the network may still be on their way into the store.
    await until(async () => {
      await page.open(daemon.url);
      await page.until(`${list}.rows.length > 0`);
      const wanted = await trending('limit=100&hours=24&sort=shares');
      const rows = wanted.map(({ title, url, shares }) => [title ?? url, new URL(url).href, shares]);
      return isDeepStrictEqual(await shown(), rows);
    }, 'the page to show what the API says');
    if (process.env.SCREENSHOTS) await page.screenshot(`${process.env.SCREENSHOTS}/page.png`);
  });

  test('shows what the reader chooses', async () => {
    await page.open(daemon.url);
    await page.until(`${list}.rows.length > 0`);
    const [first] = await trending('limit=100&sort=recent');
    await page.eval(`(() => { const sort = document.querySelector("[name=sort]");
      sort.value = "recent"; sort.dispatchEvent(new Event("input", { bubbles: true })); })()`);
    await page.until(`${list}.rows[0]?.dataset.id === ${JSON.stringify(first.id)}`);
    await page.eval(`(() => { const q = document.querySelector("[name=q]");
      q.value = "no such words anywhere"; q.dispatchEvent(new Event("input", { bubbles: true }));
      })()`);
    await page.until(`${list}.shadowRoot.querySelector("[part=empty]:not([hidden])") !== null`);
  });

  test('has a strict policy, and keeps it', async () => {
    const answer = await fetch(daemon.url);
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    const gone = await fetch(new URL('assets/nothing.js', daemon.url));
    assert.equal(gone.status, 404);
    assert.deepEqual(page.complaints, []);
  });
});
