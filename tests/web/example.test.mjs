// SPDX-License-Identifier: Apache-2.0
//
// examples/chat as it is shipped, in a real browser: two readers of one room.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { serveChat } from '../../examples/chat/serve.mjs';
import { connect } from '../../clients/js/tidemark.js';
import { Browser } from './browser.mjs';
import { MESSAGES, ROOM, message, newestFirst, startChat } from './chat.mjs';
import { until } from './daemon.mjs';

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
  test('a room of 392 messages is read to its beginning while others talk', async () => {
    const page = await enterRoom();
    assert.match(await page.eval('document.querySelector("#total").textContent'), /^392 /);
    const db = connect(daemon.url);
    const live = [];
    for (const wanted of [201, 302, MESSAGES + 3]) {
      const now = { timestamp: new Date().toISOString() };
      const said = db.create('chat_messages', message(5000 + live.length, now));
      await page.eval(`${viewport}.scrollTop = 0`);
      await page.until(`${list}.rows.length === ${wanted}`);
      live.push((await said).items[0].id);
    }
    const ids = await page.eval(`${list}.rows.map((row) => row.dataset.id)`);
    assert.deepEqual(ids, [...newestFirst].reverse().concat(live));
    for (const id of live) await db.delete('chat_messages', id);
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

  const asked = () => daemon.proxy.seen.filter(({ path }) => path.endsWith('/query-tail')).length;

  test('changes are pushed, over a new websocket when one breaks', async () => {
    const [ada, ben] = [await enterRoom(), await enterRoom()];
    await until(() => daemon.proxy.tunnels >= 4, 'a websocket each');
    daemon.proxy.seen = [];
    await say(ada, 'first');
    await ben.until(`${lastText} === "first"`);
    assert.equal(asked(), 0);
    daemon.proxy.cut();
    await say(ada, 'second');
    await ben.until(`${lastText} === "second"`);
    await until(() => daemon.proxy.tunnels >= 4, 'new ones');
    await say(ada, 'third');
    await ben.until(`${lastText} === "third"`);
    const texts = await ben.eval(`${list}.rows.slice(-3).map((row) =>
      row.querySelector("p:last-child").textContent)`);
    assert.deepEqual(texts, ['first', 'second', 'third']);
    await Promise.all([ada.close(), ben.close()]);
  });

  test('where no websocket is let through the daemon is asked', async () => {
    daemon.proxy.letsTunnelsThrough = false;
    daemon.proxy.seen = [];
    const ben = await enterRoom();
    // Only who has given up pushes waits for an answer.
    const waiting = () => new Set(daemon.proxy.seen
      .filter(({ path, params }) => path.endsWith('/query-tail') && params.wait > 0)
      .map(({ params }) => params.queryHandle)).size;
    await until(() => waiting() === 2, 'both lists to ask');
    assert.ok(daemon.proxy.tunnelsRefused >= 2);
    await say(ben, 'heard anyway');
    await ben.until(`${lastText} === "heard anyway"`);
    const before = daemon.proxy.tunnelsRefused;
    await say(ben, 'and again');
    await ben.until(`${lastText} === "and again"`);
    assert.equal(daemon.proxy.tunnelsRefused, before, 'it is given up');
    daemon.proxy.letsTunnelsThrough = true;
    await ben.close();
  });

  test('rooms stand where their order has them, and move', async () => {
    const db = connect(daemon.url);
    const page = await enterRoom();
    const names = 'document.querySelector("#rooms").rows.map((row) => row.dataset.id).join()';
    const at = (minute) => `2025-12-31T23:0${minute}:00.000Z`;
    await db.create('rooms', [1, 3, 2].map((minute) => ({
      id: `r${minute}`, name: `at ${minute}`, lastActivityAt: at(minute),
    })));
    await page.until(`${names} === "${ROOM},r3,r2,r1"`);
    await db.update('rooms', 'r1', { lastActivityAt: '2099-01-01T00:00:00Z' });
    await page.until(`${names} === "r1,${ROOM},r3,r2"`);
    await db.delete('rooms', 'r3');
    await page.until(`${names} === "r1,${ROOM},r2"`);
    assert.deepEqual(page.complaints, []);
    await db.delete('rooms', 'r1');
    await db.delete('rooms', 'r2');
    await page.close();
  });

  test('a draft that is sent appears in its place, and elsewhere in none', async () => {
    const db = connect(daemon.url);
    const page = await enterRoom();
    const draft = (id, number) => ({ ...message(number), id, status: 'draft' });
    const sent = { ...message(6000, { timestamp: new Date().toISOString() }), id: 'told' };
    await db.create('chat_messages', [draft('seen', 380), draft('unseen', 20), sent]);
    // Only who was told of a draft's commit is told of a change; to others it is a new message.
    await page.until(`${list}.rows.some((row) => row.dataset.id === "told")`);
    for (const id of ['unseen', 'seen']) await db.update('chat_messages', id, { status: 'sent' });
    await page.until(`${list}.rows.some((row) => row.dataset.id === "seen")`);
    const shown = await page.eval(`${list}.rows.map((row) => row.dataset.id)`);
    const wanted = [];
    for await (const row of await db.open('chat_messages', {
      filter: { roomId: ROOM, status: 'sent' }, pageSize: 1000,
    }))
      wanted.unshift(row.id);
    assert.deepEqual(shown, wanted.slice(-shown.length));
    for (const id of ['told', 'unseen', 'seen']) await db.delete('chat_messages', id);
    await page.until(`${list}.rows.every((row) => row.dataset.id !== "seen")`);
    await page.close();
  });

  test('a reader who follows keeps few rows, and finds the others again', async () => {
    const page = await enterRoom();
    const db = connect(daemon.url);
    await page.eval(`${list}.setAttribute("max-rows", "150")`);
    for (const wanted of [200, 300]) {
      await page.eval(`${viewport}.scrollTop = 0`);
      await page.until(`${list}.rows.length === ${wanted}`);
    }
    await page.eval(`${list}.showNew()`);
    const { items } = await db.create('chat_messages', {
      roomId: ROOM, status: 'sent', text: 'x', timestamp: new Date().toISOString(),
    });
    await page.until(`${list}.rows.length === 150`);
    const all = [];
    for await (const row of await db.open('chat_messages', {
      filter: { roomId: ROOM, status: 'sent' },
    }))
      all.unshift(row.id);
    while ((await page.eval(`${list}.rows.length`)) < all.length) {
      const count = await page.eval(`${list}.rows.length`);
      await page.eval(`${viewport}.scrollTop = 0`);
      await page.until(`${list}.rows.length > ${count}`);
    }
    assert.deepEqual(await page.eval(`${list}.rows.map((row) => row.dataset.id)`), all);
    await db.delete('chat_messages', items[0].id);
    await page.close();
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
