// SPDX-License-Identifier: Apache-2.0
//
// What scripts add to the page at /: it lives, and it remembers what its reader did.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import { ARTICLES, articlesSql, fill, gapSql, linkSql, peopleSql } from './news_world.mjs';
import { Simulator } from './simulator.mjs';

const shownTitles = `[...document.querySelectorAll('.links > li:not([hidden]) .title')]
  .map((e) => e.textContent)`;
const press = (words) => `[...document.querySelectorAll('button')]
  .find((b) => b.textContent.startsWith(${JSON.stringify(words)}) && b.offsetParent).click()`;
const noteStreams = `window.streams = [];
  window.EventSource = class extends EventSource {
    constructor(url) { super(url); window.streams.push(this); }
  };`;
const following = 'window.streams.some((stream) => stream.readyState === EventSource.OPEN)';
const twin = { title: ARTICLES[1][0], about: null, people: 1, ageMinutes: 90 };
const equipped = 'document.querySelectorAll(".tools").length === 1';

describe('a reader of the page', () => {
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;
  const all = ARTICLES.length;
  const shown = () => page.eval(shownTitles);
  const open = async () => {
    await page.open(daemon.url);
    await page.until(equipped);
    // Links lead to sites that exist nowhere.
    await page.eval(`document.addEventListener('click', (event) =>
      event.target.closest('.title') && event.preventDefault(), { capture: true })`);
  };
  const key = (name) => page.press(name);

  before(async () => {
    daemon = await Daemon.start();
    await fill(daemon, peopleSql() + articlesSql(nowUs) + gapSql(nowUs));
    browser = await Browser.start();
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
  });
  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage();
    await page.open(daemon.url);
    await page.eval('localStorage.clear()');
    await open();
  });

  test('hides what was read, and goes on doing so', async () => {
    const [first, second] = await shown();
    await page.eval('document.querySelector(".title").click()');
    assert.equal((await shown()).length, all);
    await page.eval(press('Hide read'));
    assert.equal((await shown())[0], second);
    assert.match(await page.eval('document.querySelector(".hidden-count").textContent'), /1 not/);
    await open();
    assert.equal((await shown())[0], second);
    await page.eval(press('Hide read'));
    assert.equal((await shown())[0], first);
    assert.deepEqual(page.complaints, []);
  });

  test('mutes a site, a person and a word, and takes it back', async () => {
    const mute = async (item, words) => {
      await page.eval(`document.querySelectorAll('.link')[${item}].querySelector('.mute').open = true`);
      await page.until(`document.querySelectorAll('.link')[${item}]
        .querySelectorAll('.mute-choices button').length > 0`);
      await page.eval(press(words));
    };
    await mute(0, 'Mute harbourpost.example');
    assert.equal((await shown()).length, all - 2);
    // Two people shared the last one; it goes with the second of them.
    const people = await page.eval(`[...document.querySelectorAll('.link')].at(-1)
      .querySelectorAll('.names .person').length`);
    assert.equal(people, 2);
    for (let i = 0; i < people; i++) {
      const name = await page.eval(`[...document.querySelectorAll('.link')].at(-1)
        .querySelectorAll('.names .person')[${i}].textContent`);
      await mute(all - 1, `Mute ${name}`);
      assert.equal((await shown()).length, all - 2 - i);
    }
    await page.eval(press('Muted'));
    await page.eval(`(() => { const form = document.querySelector('.mute-word');
      form.querySelector('input').value = 'KETTLE'; form.requestSubmit(); })()`);
    assert.equal((await shown()).includes('Your kettle is a clock'), false);
    await open();
    assert.equal((await shown()).length, all - 4);
    await page.eval(press('Muted'));
    for (let left = 4; left > 0; left--) await page.eval(press('Unmute'));
    assert.equal((await shown()).length, all);
    assert.deepEqual(page.complaints, []);
  });

  test('saves links and finds them again', async () => {
    const [first] = await shown();
    await page.eval('document.querySelector(".save").click()');
    await open();
    assert.equal(await page.eval('document.querySelector(".save").textContent'), 'Saved');
    await page.eval(`document.querySelector('.tools').querySelectorAll('button')[2].click()`);
    assert.equal(await page.eval('document.querySelector("dialog[open] a").textContent'), first);
    await page.eval(press('Remove'));
    assert.equal(await page.eval('document.querySelectorAll("dialog[open] a").length'), 0);
    assert.equal(await page.eval('document.querySelector(".save").textContent'), 'Save');
  });

  test('has one memory, however many tabs are open', async () => {
    const other = await browser.newPage();
    const saveButton = (item) => `document.querySelectorAll('.save')[${item}]`;
    await other.open(daemon.url);
    await other.until(equipped);
    await page.eval(`${saveButton(0)}.click()`);
    await other.until(`${saveButton(0)}.textContent === 'Saved'`);
    await other.eval(`${saveButton(1)}.click()`);
    await page.until(`${saveButton(1)}.textContent === 'Saved'`);
    await page.eval(`${saveButton(0)}.click()`);
    await other.until(`${saveButton(0)}.textContent === 'Save'`);
    await open();
    assert.equal(await page.eval(`${saveButton(0)}.textContent`), 'Save');
    assert.equal(await page.eval(`${saveButton(1)}.textContent`), 'Saved');
    assert.deepEqual([...page.complaints, ...other.complaints], []);
    await other.close();
  });

  const ago = (name) => `(Date.now() - Number(localStorage.getItem('tidemark.visit.${name}'))) / 60000`;
  const setHidden = (hidden) => page.eval(`(() => {
    Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange')); })()`);
  const shiftClock = (minutes) => page.eval(
    `Date.now = ((now) => () => now() + ${minutes * 60000})(Date.now.bind(Date))`);

  test('sees what came since the last visit', async () => {
    // The visit before this one ended two hours ago.
    await page.leftAgo(120);
    await open();
    const since = ARTICLES.filter(([, , , , minutes]) => minutes < 120);
    await page.eval(press(`${since.length} since your last visit, 2 h ago`));
    assert.equal((await shown()).length, since.length);
    assert.equal(await page.eval('document.querySelectorAll(".fresh").length'), since.length);
  });

  test('is still on the same visit while the page is read', async () => {
    await page.eval(`localStorage.setItem('tidemark.visit.last', String(Date.now() - 180 * 60000))`);
    await open(); // the page before it was read until just now
    assert.ok(await page.eval(ago('last')) < 5);
    assert.equal(await page.eval(`localStorage.getItem('tidemark.visit.before')`), null);
    await page.eval(`localStorage.setItem('tidemark.visit.last', String(Date.now() - 20 * 60000))`);
    await setHidden(true);
    assert.ok(await page.eval(ago('last')) < 5);
    // Who comes back to the tab an hour later comes for another visit.
    await shiftClock(60);
    await setHidden(false);
    assert.ok(await page.eval(ago('before')) > 59);
    assert.match(await page.eval('document.querySelector(".tools").textContent'),
      /since your last visit, 1 h ago/);
    // Who looks at what is new is there.
    await page.eval(`localStorage.setItem('tidemark.visit.last', '1')`);
    await page.eval(`dispatchEvent(new Event('online'))`);
    await page.until(`(document.querySelector('.pill').click(), ${ago('last')} < 5)`);
    assert.deepEqual(page.complaints, []);
  });

  test('goes through the list by keyboard', async () => {
    const focused = () => page.eval('document.activeElement.textContent');
    const [first, second] = await shown();
    await key('j');
    assert.equal(await focused(), first);
    await key('j');
    assert.equal(await focused(), second);
    await key('k');
    await key('o');
    assert.equal(await page.eval('document.querySelector(".link").classList.contains("read")'), true);
    await key('x');
    assert.equal(await page.eval('document.querySelector(".more").open'), true);
    await key('s');
    assert.equal(await page.eval('document.querySelector(".save").textContent'), 'Saved');
    await key('r');
    assert.equal((await shown())[0], second);
    await key('/');
    assert.equal(await page.eval('document.activeElement.name'), 'q');
    await key('j');
    assert.equal(await page.eval('document.activeElement.value'), 'j');
    await page.eval('document.activeElement.blur()');
    await key('?');
    assert.match(await page.eval('document.querySelector("dialog[open]").textContent'), /next link/);
  });

  test('is told of changes once, however often the page was hidden and shown', async () => {
    const questions = [];
    await page.hands.addInitScript(noteStreams);
    await page.hands.route('**/api/data/query-open', (route) => questions.push(route));
    await open();
    const show = (shown) => page.eval(`(() => {
      Object.defineProperty(document, 'hidden', { value: ${!shown}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    })()`);
    for (const shown of [false, true, false, true]) await show(shown);
    await until(() => questions.length === 3, 'three questions');
    for (const question of questions) {
      const answered = page.hands.waitForResponse('**/api/data/query-open');
      await question.continue();
      await (await answered).finished();
    }
    await page.until(following);
    const openOnes = '.filter((stream) => stream.readyState !== EventSource.CLOSED).length';
    assert.equal(await page.eval(`window.streams${openOnes}`), 1);
    await show(false);
    assert.equal(await page.eval(`window.streams${openOnes}`), 0);
    assert.deepEqual(page.complaints, []);
  });

  test('sees what a link is called once that is known, wherever it is told, with its picture', async () => {
    const last = `[...document.querySelectorAll('.link')].at(-1)`;
    const words = (selector) => page.eval(`${last}.querySelector('${selector}')?.textContent`);
    assert.equal(await words('.title'), 'paste.example: 12');
    assert.equal(await words('.address'), 'https://paste.example/12');
    await page.eval(`${last}.querySelector('.title').focus()`);
    // What is filled in by hand is no commit that anybody is told of.
    const fillAndLook = async (sql) => {
      await fill(daemon, sql);
      await page.eval(`dispatchEvent(new Event('online'))`);
    };
    await fillAndLook(`UPDATE links SET title = 'A name at last', description = 'And what it says.',
      image_url = 'https://paste.example/12.png' WHERE id = 12;
      ${linkSql(71, { ...twin, domain: 'elsewhere.example' }, nowUs)}`);
    await page.until(`${last}.querySelector('.title').textContent === 'A name at last'`);
    assert.equal(await page.eval('document.activeElement.textContent'), 'A name at last');
    assert.equal(await words('.address'), undefined);
    assert.equal(await words('.about'), 'And what it says.');
    assert.equal(await page.eval(`${last}.querySelector('.about').previousElementSibling.className`),
      'source');
    assert.equal(await page.eval(`${last}.matches('.pictured')
      && ${last}.lastElementChild.matches('img.picture')`), true);
    const also = `document.querySelector('.link[data-id="2"] .also')`;
    assert.equal(await page.eval(`${also}.textContent`), 'also at elsewhere.example (1)');
    await fillAndLook(`UPDATE links SET title = NULL, description = NULL, image_url = NULL WHERE id = 12;
      DELETE FROM post_links WHERE link_id = 71; DELETE FROM share WHERE link_id = 71;
      DELETE FROM links WHERE id = 71;`);
    await page.until(`${last}.querySelector('.title').textContent === 'paste.example: 12'`);
    assert.deepEqual(await page.eval(`[${also} === null, ${last}.querySelectorAll('.picture').length,
      ${last}.querySelector('.address').nextElementSibling.className, ${last}.className]`),
    [true, 0, 'source', 'link']);
    // It is still a link that can be read.
    await page.eval(`${last}.querySelector('.title').click()`);
    assert.equal(await page.eval(`${last}.classList.contains('read')`), true);
    assert.deepEqual(page.complaints, []);
  });

  test('is told when there is no network, and when there is', async () => {
    await page.hands.addInitScript(noteStreams);
    await open();
    await page.until(following); // a stream that begins now would be a sign of life
    await page.offline(true);
    await page.until('document.querySelector(".offline:not([hidden])")?.textContent === "You are offline."');
    assert.equal((await shown()).length, all);
    await page.offline(false);
    await page.until('document.querySelector(".offline[hidden]") !== null');
  });

  test('is told when the daemon is away, and when it is back', async () => {
    await daemon.end();
    await page.until('document.querySelector(".offline:not([hidden])") !== null');
    assert.equal((await shown()).length, all);
    await daemon.begin();
    await page.until('document.querySelector(".offline[hidden]") !== null');
  });
});

describe('what is remembered', () => {
  const listOf = async () => (await import('../../web/memory.js')).KeptList;

  before(() => {
    const kept = new Map();
    globalThis.localStorage = {
      full: false,
      getItem: (name) => kept.get(name) ?? null,
      setItem(name, text) {
        if (this.full) throw new Error('full');
        kept.set(name, text);
      },
    };
  });
  after(() => delete globalThis.localStorage);

  test('is not lost by a tab that has not heard of it', async () => {
    const KeptList = await listOf();
    const [one, other] = [new KeptList('saved', 9), new KeptList('saved', 9)];
    one.add('a');
    other.add('b');
    one.add('c');
    other.remove('a');
    assert.deepEqual(new KeptList('saved', 9).items, ['b', 'c']);
  });

  test('stays with the tab when there is no room for it', async () => {
    const KeptList = await listOf();
    const list = new KeptList('read', 9);
    list.add('a');
    localStorage.full = true;
    list.add('b');
    list.add('c');
    list.refresh();
    assert.deepEqual(list.items, ['a', 'b', 'c']);
    localStorage.full = false;
    list.remove('b');
    assert.deepEqual(new KeptList('read', 9).items, ['a', 'c']);
  });
});

describe('the page goes on living', () => {
  let simulator;
  let daemon;
  let browser;
  let page;
  let follows;
  let links; // numbers of pages that are news, each of its own

  const act = async (did, link) => {
    const query = `do=post&did=${did}&shape=link&link=${links[link]}&spelling=0`;
    const answer = await fetch(`http://${simulator.address}/_sim/act?${query}`, { method: 'POST' });
    assert.equal(answer.status, 200);
  };
  const trending = async () =>
    (await (await fetch(new URL('api/trending?limit=100', daemon.url))).json()).links;
  const newsPages = async () => {
    const ask = async (n) =>
      (await fetch(`http://${simulator.address}/_sim/link?n=${n}`)).json();
    const pages = await Promise.all(Array.from({ length: 40 }, (_, n) => ask(n)));
    return pages.filter((one) => one.news).map((one) => one.n);
  };

  before(async () => {
    simulator = await Simulator.start('--events', '0', '--start-us', 'now', '--links', '40');
    const accounts = await (await fetch(`http://${simulator.address}/_sim/accounts`)).text();
    follows = accounts.trim().split('\n').map((line) => JSON.parse(line))
      .filter((account) => account.followed).map((account) => account.did);
    links = await newsPages();
    daemon = await Daemon.start({ settings: simulator.settings });
    await until(async () => (await (await fetch(`http://${simulator.address}/_sim/stats`)).json())
      .connections > 0, 'the daemon to follow the network');
    for (let i = 0; i < 6; i++) for (let k = 0; k <= i; k++) await act(follows[k], i);
    await until(async () => (await trending()).length === 6 && (await trending())[0].shares === 6,
      'six links');
    browser = await Browser.start();
    page = await browser.newPage();
    await page.open(daemon.url);
    await page.until(equipped);
  });
  after(async () => {
    await browser.stop();
    await daemon.remove();
    await simulator.stop();
  });

  test('counts change in place, new links wait until they are asked for', async () => {
    const count = 'document.querySelectorAll(".count b")[5].textContent';
    const before = await page.eval(shownTitles);
    await page.eval('document.querySelector(".more").open = true');
    assert.equal(await page.eval(count), '1');
    for (const did of follows.slice(1, 9)) await act(did, 0);
    await page.until(`${count} === '9'`);
    assert.deepEqual(await page.eval(shownTitles), before);
    await act(follows[0], 10);
    await page.until(`document.querySelector('.pill:not([hidden])')?.textContent === '1 new link'`);
    assert.deepEqual(await page.eval(shownTitles), before);
    await page.eval('document.querySelector(".pill").click()');
    const after = await page.eval(
      `[...document.querySelectorAll('.title')].map((a) => a.getAttribute('href'))`);
    assert.deepEqual(after, (await trending()).map((link) => link.url));
    assert.equal(after.length, 7);
    assert.equal(await page.eval(`document.querySelectorAll('.more[open]').length`), 1);
    assert.equal(await page.eval('document.querySelector(".pill").hidden'), true);
    assert.deepEqual(page.complaints, []);
  });

  test('who is on a name stays there until they go on', async () => {
    const reading = await browser.newPage();
    await reading.open(daemon.url);
    await reading.until(equipped);
    const link = (await trending()).find((one) => one.shares === 5);
    const mine = `document.querySelector('.link[data-id="${link.id}"]')`;
    const names = () => reading.eval(`${mine}.querySelector('.names').textContent`);
    const before = await names();
    await reading.eval(`${mine}.querySelector('.names .person').focus();
      window.focused = document.activeElement`);
    for (const did of follows.slice(5, 8)) await act(did, 4);
    await reading.until(`${mine}.querySelector('.count b').textContent === '8'`);
    assert.equal(await reading.eval('window.focused.isConnected'), true);
    assert.equal(await reading.eval('document.activeElement === window.focused'), true);
    assert.equal(await names(), before);
    await reading.eval(`${mine}.querySelector('.title').focus()`);
    await reading.until(`${mine}.querySelector('.names').textContent.endsWith('and 5 more')`);
    assert.deepEqual(reading.complaints, []);
    await reading.close();
  });

  test('new links that the reader does not want to see are not counted', async () => {
    const picky = await browser.newPage();
    let listen;
    const mayListen = new Promise((resolve) => { listen = resolve; });
    await picky.hands.route('**/api/data/query-open', async (route) => {
      await mayListen;
      await route.continue();
    });
    await picky.open(daemon.url);
    await picky.eval(`localStorage.setItem('tidemark.mute.accounts', '["${follows[9]}"]')`);
    await picky.open(daemon.url);
    await picky.until(equipped);
    const { length } = await trending();
    await act(follows[9], 12);
    await act(follows[0], 13);
    await until(async () => (await trending()).length === length + 2, 'both links');
    listen();
    const pill = `document.querySelector('.pill:not([hidden])')?.textContent`;
    assert.equal(await picky.until(pill), '1 new link');
    await picky.eval(press('Muted'));
    await picky.eval(press('Unmute'));
    assert.equal(await picky.eval(pill), '2 new links');
    assert.deepEqual(picky.complaints, []);
    await picky.close();
  });

  test('what changes before the page listens is shown, too', async () => {
    const early = await browser.newPage();
    let listen;
    const mayListen = new Promise((resolve) => { listen = resolve; });
    await early.hands.route('**/api/data/query-open', async (route) => {
      await mayListen;
      await route.continue();
    });
    await early.open(daemon.url);
    await early.until(equipped);
    const { length } = await trending();
    await act(follows[0], 11);
    await until(async () => (await trending()).length === length + 1, 'the link');
    listen();
    await early.until(`document.querySelector('.pill:not([hidden])')?.textContent === '1 new link'`);
    assert.deepEqual(early.complaints, []);
    await early.close();
  });
});
