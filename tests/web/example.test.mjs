// SPDX-License-Identifier: Apache-2.0
//
// examples/chat as it is shipped, in a real browser: two readers of one room.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { serveChat } from '../../examples/chat/serve.mjs';
import { connect } from '../../clients/js/tidemark.js';
import { Browser } from './browser.mjs';
import { MESSAGES, ROOM, newestFirst, startChat } from './chat.mjs';

const list = 'document.querySelector("chat-widget").list';
const viewport = `${list}.shadowRoot.querySelector("[part=viewport]")`;
const pill = `${list}.shadowRoot.querySelector("[part=new]")`;

describe('examples/chat', () => {
  let daemon;
  let server;
  let browser;

  before(async () => {
    daemon = await startChat();
    await connect(daemon.url).create('rooms', {
      id: ROOM, name: 'general', topic: 'everything', lastActivityAt: '2026-01-01T00:00:00Z',
    });
    server = await serveChat(0, daemon.url);
    browser = await Browser.start();
  });
  after(async () => {
    await browser.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await daemon.remove();
  });

  async function enterRoom() {
    const page = await browser.newPage();
    await page.open(`http://127.0.0.1:${server.address().port}/`);
    await page.until('document.querySelector("#rooms button") !== null');
    await page.eval('document.querySelector("#rooms button").click()');
    await page.until(`${list}.rows.length === 100`);
    return page;
  }

  const say = (page, words) =>
    page.eval(`(() => { const form = document.querySelector("#composer");
      form.elements.text.value = ${JSON.stringify(words)}; form.requestSubmit(); })()`);
  const lastText = `${list}.rows.at(-1).querySelector("p:last-child").textContent`;

  // R004-57 R004-51 R004-19
  test('a room of 392 messages is read to its beginning', async () => {
    const page = await enterRoom();
    assert.match(await page.eval('document.querySelector("#total").textContent'), /^392 /);
    for (const wanted of [200, 300, MESSAGES]) {
      await page.eval(`${viewport}.scrollTop = 0`);
      await page.until(`${list}.rows.length === ${wanted}`);
    }
    const ids = await page.eval(`${list}.rows.map((row) => row.dataset.id)`);
    assert.deepEqual(ids, [...newestFirst].reverse());
    assert.deepEqual(page.complaints, []);
    await page.close();
  });

  test('what one says the other sees, at once or by the button', async () => {
    const [ada, ben] = [await enterRoom(), await enterRoom()];
    await say(ada, 'hello <b>Ben</b>');
    await ben.until(`${lastText} === "hello <b>Ben</b>"`);
    await ada.until(`${lastText} === "hello <b>Ben</b>"`);
    if (process.env.SCREENSHOTS) await ben.screenshot(`${process.env.SCREENSHOTS}/chat.png`);
    // Ben reads back; what is new does not pull him away.
    await ben.eval(`${viewport}.scrollTop = 600`);
    await ben.until(`${viewport}.scrollHeight - ${viewport}.scrollTop > 2000`);
    const place = `(() => { const top = ${viewport}.getBoundingClientRect().top;
      const row = ${list}.rows.find((r) => r.getBoundingClientRect().bottom > top);
      return [row.dataset.id, Math.round(row.getBoundingClientRect().top)].join() })()`;
    const before = await ben.eval(place);
    await say(ada, 'one');
    await ada.until(`${lastText} === "one"`);
    await say(ada, 'two');
    await ben.until(`!${pill}.hidden && ${pill}.textContent === "2 new"`);
    assert.equal(await ben.eval(place), before);
    if (process.env.SCREENSHOTS) await ben.screenshot(`${process.env.SCREENSHOTS}/pill.png`);
    await ben.eval(`${pill}.click()`);
    await ben.until(`${pill}.hidden && ${lastText} === "two"`);
    assert.deepEqual([...ada.complaints, ...ben.complaints], []);
    await Promise.all([ada.close(), ben.close()]);
  });

  test('nothing is missed while the daemon is gone', async () => {
    const page = await enterRoom();
    const db = connect(daemon.url);
    const before = await page.eval(`${list}.rows.length`);
    await daemon.end('SIGKILL');
    await daemon.begin();
    await daemon.ready(() => db.list('chat_messages', { limit: 1 }));
    const texts = ['back', 'again', 'and on'];
    for (const text of texts)
      await db.create('chat_messages', {
        roomId: ROOM, status: 'sent', senderName: 'Cy', text, timestamp: new Date().toISOString(),
      });
    await page.until(`${lastText} === "and on"`);
    const last = await page.eval(`${list}.rows.slice(-3).map((row) =>
      row.querySelector("p:last-child").textContent)`);
    assert.deepEqual(last, texts);
    assert.equal(await page.eval(`${list}.rows.length`), before + 3);
    await page.close();
  });
});
