// SPDX-License-Identifier: Apache-2.0
//
// A page that has to show a token: what it follows is pushed to it, until the token is taken back.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from '../../clients/js/tidemark.js';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';

const config = 'collections: {notes: {fields: {text: text}}}\n';
const clientFolder = new URL('../../clients/js/', import.meta.url);
const [mine, other] = ['tmk_mine', 'tmk_other'];

function lineOf(name, token) {
  return `${name} read,write ${createHash('sha256').update(token).digest('hex')}\n`;
}

describe('a page with a token', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-token-'));
  const tokens = join(folder, 'tokens');
  let daemon;
  let browser;
  let page;
  let db;

  before(async () => {
    writeFileSync(tokens, lineOf('mine', mine) + lineOf('other', other), { mode: 0o600 });
    daemon = await Daemon.start({
      config, settings: [`serve.tokens_file=${tokens}`, 'serve.open_reads=false'],
    });
    db = connect(daemon.url, { token: other });
    await daemon.ready(() => db.list('notes', { limit: 1 }));
    for (const name of readdirSync(clientFolder).filter((file) => file.endsWith('.js')))
      daemon.proxy.serve(
        `/client/${name}`, 'text/javascript', readFileSync(new URL(name, clientFolder)));
    daemon.proxy.serve('/t/page.html', 'text/html', '<!doctype html><title>t</title>');
    browser = await Browser.start();
    page = await browser.newPage();
    await page.open(new URL('/t/page.html', daemon.url).href);
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
    rmSync(folder, { recursive: true });
  });

  test('is pushed to, and told when the token is taken back', async () => {
    await page.eval(`(async () => {
      const { connect } = await import('/client/tidemark.js');
      const handle = await connect(location.origin, { token: '${mine}' }).open('notes');
      window.told = [];
      (async () => {
        try {
          for await (const { op, item } of handle.tail()) window.told.push(op + ' ' + item.text);
        } catch (error) {
          window.told.push(error.code);
        }
      })();
    })()`);
    await until(() => daemon.proxy.tunnels > 0, 'the websocket');
    await db.create('notes', { text: 'a' });
    assert.deepEqual(await page.until('window.told.length > 0 && window.told'), ['enter a']);
    const asked = daemon.proxy.seen.filter(({ path }) => path.endsWith('/query-tail'));
    assert.deepEqual(asked, [], 'it was pushed');
    assert.ok(daemon.proxy.addresses.length > 0);
    assert.deepEqual(daemon.proxy.addresses.filter((url) => url.includes(mine)), []);
    writeFileSync(tokens, lineOf('other', other));
    daemon.signal('SIGHUP');
    assert.deepEqual(await page.until('window.told.length > 1 && window.told'),
      ['enter a', 'UNAUTHORIZED']);
  });
});
