// SPDX-License-Identifier: Apache-2.0
//
// Who cannot see the pages, or has no mouse, can use them: axe-core finds nothing to complain about.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon } from './daemon.mjs';
import { articlesSql, fill, gapSql, peopleSql } from './news_world.mjs';

const packages = execFileSync(fileURLToPath(new URL('../../tools/web-packages', import.meta.url)),
  { encoding: 'utf8' }).trim();
const axe = readFileSync(join(packages, 'node_modules/axe-core/axe.min.js'), 'utf8');

describe('pages for everybody', () => {
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;
  const open = async (path) => {
    await page.open(new URL(path, daemon.url).href);
    await page.eval(axe);
  };
  /** What axe-core has against the page, in words. */
  const violations = () => page.eval(`axe.run(document, { resultTypes: ['violations'] })
    .then(({ violations }) => violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => [id, help, target.join(' '), failureSummary].join('; '))))`);

  before(async () => {
    daemon = await Daemon.start();
    const pictured = "UPDATE links SET image_url = 'http://127.0.0.1:9/' || id WHERE id % 3 > 0;";
    await fill(daemon, peopleSql() + articlesSql(nowUs) + gapSql(nowUs) + pictured);
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

  for (const colours of ['light', 'dark'])
    test(`every page, in ${colours} colours`, async () => {
      await page.colours(colours);
      for (const path of ['/', '/?layout=dense', '/?author=did:plc:3', '/?q=nothing-at-all',
        '/?hours=none', '/links/1', '/status']) {
        await open(path);
        assert.deepEqual(await violations(), [], path);
      }
    });

  test('with everything opened, on a phone', async () => {
    await page.viewport(390, 844, { phone: true });
    await open('/');
    await page.until('document.querySelector(".tools") !== null');
    await page.eval(`for (const part of document.querySelectorAll('details')) part.open = true`);
    assert.deepEqual(await violations(), []);
    await page.eval(`[...document.querySelectorAll('.tools button')]
      .find((button) => button.textContent === 'Muted').click()`);
    assert.deepEqual(await violations(), []);
  });

  test('a page without a name for a field would be found out', async () => {
    await open('/');
    await page.eval(`document.querySelector('[name=q]').removeAttribute('aria-label');
      document.querySelector('[name=q]').removeAttribute('placeholder')`);
    assert.match((await violations()).join('\n'), /label/);
  });
});
