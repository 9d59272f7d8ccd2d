// SPDX-License-Identifier: Apache-2.0
//
// Everything on the page at / that can be pressed is pressed, as a reader does it, and the view is
// another one then. At the end nothing may be left that no test has pressed.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Daemon } from './daemon.mjs';
import {
  ARTICLES, PEOPLE, articlesSql, fill, gapSql, linkSql, peopleSql, titleOf,
} from './news_world.mjs';

const DAY_MIN = 24 * 60;
const FIRST_DEGREE = 12; // of the people; the others are followed by those
const OLD = 60; // so many are older than a week: more than a page shows at first
const NEWER = [['Two days old', 2, 2], ['Five days old', 5, 1]]; // days, people
const shownTitles = `[...document.querySelectorAll('.links > li:not([hidden]) .title')]
  .map((e) => e.textContent)`;

describe('the controls of the page at /', () => {
  let daemon;
  let browser;
  let page;
  const nowUs = Date.now() * 1000;
  const pressed = []; // [selector, words] of everything that was

  const address = (path) => new URL(path, daemon.url).href;
  const open = async (path = '/') => {
    await page.open(address(path));
    await page.until('document.querySelectorAll(".tools").length === 1');
  };
  const texts = (selector) =>
    page.eval(`[...document.querySelectorAll('${selector}')].map((e) => e.textContent)`);
  const shown = () => page.eval(shownTitles);
  const search = () => page.eval('location.search');
  const ranked = async (query = '') =>
    (await (await fetch(address(`/api/trending?${query}`))).json()).links.map(titleOf);

  /** Presses the first that fits, with a mouse. */
  async function press(selector, words) {
    const all = page.hands.locator(selector);
    pressed.push([selector, words]);
    await (words === undefined ? all : all.filter({ hasText: words })).first().click();
  }
  /** The same, when it leads to another page. */
  async function follow(selector, words) {
    await page.eval('window.isLeft = true');
    await press(selector, words);
    await page.until('!window.isLeft && document.readyState === "complete"');
  }
  async function choose(name, value) {
    const selector = `select[name=${name}]`;
    pressed.push([selector]);
    await page.hands.selectOption(selector, value);
  }
  async function openFilters() {
    if (!(await page.eval('document.querySelector(".filters").open'))) await press('.filters summary');
  }

  before(async () => {
    daemon = await Daemon.start({ settings: ['bluesky.actors=did:plc:me'] });
    const circle = PEOPLE.map((_, i) => `('did:plc:${i}', ${i < FIRST_DEGREE ? 1 : 2}, 1)`);
    const newer = NEWER.map(([title, days, people], i) => linkSql(70 + i, {
      title, about: null, domain: 'older.example', people, ageMinutes: days * DAY_MIN,
    }, nowUs));
    const old = Array.from({ length: OLD }, (_, i) => linkSql(100 + i, {
      title: `Old note ${i}`, about: null, domain: 'older.example', people: 1,
      ageMinutes: 20 * DAY_MIN + i,
    }, nowUs));
    await fill(daemon, [
      peopleSql(), articlesSql(nowUs), gapSql(nowUs), ...newer, ...old,
      `INSERT INTO circle (did, degree, sources) VALUES ${circle};`,
    ].join('\n'));
    browser = await Browser.start();
  });
  after(async () => {
    await browser?.stop();
    await daemon?.remove();
  });
  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage();
    await page.viewport(1000, 900);
    // Where the links of the news lead to there is nobody.
    await page.hands.route((url) => url.origin !== new URL(daemon.url).origin, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>elsewhere</title>' }));
    await open();
    await page.eval('localStorage.clear()');
    await open();
  });

  test('each window is another time, and the address says which', async () => {
    let before = 0;
    for (const [words, hours] of [['1 h', 1], ['6 h', 6], ['24 h', 24], ['3 d', 72], ['7 d', 168],
      ['30 d', 720]]) {
      await follow('[aria-label=Time] a', words);
      assert.equal(await search(), hours === 24 ? '' : `?hours=${hours}`);
      const titles = await shown();
      assert.deepEqual(titles, await ranked(`hours=${hours}`));
      assert.ok(titles.length > before, `${words} shows ${titles.length}, after ${before}`);
      before = titles.length;
      assert.deepEqual(await texts('[aria-label=Time] [aria-current]'), [words]);
    }
  });

  test('each order is another one, and the address says which', async () => {
    const orders = new Set();
    for (const [words, sort] of [['Rising', 'velocity'], ['Newest', 'recent'], ['Most shared', 'shares']]) {
      await follow('[aria-label=Order] a', words);
      assert.equal(await search(), sort === 'shares' ? '' : `?sort=${sort}`);
      const titles = await shown();
      assert.deepEqual([...titles].sort(), (await ranked()).sort());
      // Of two that rise as fast, what comes first may change with the clock.
      if (sort !== 'velocity') assert.deepEqual(titles, await ranked(`sort=${sort}`));
      orders.add(titles.join('\n'));
      assert.deepEqual(await texts('[aria-label=Order] [aria-current]'), [words]);
    }
    assert.equal(orders.size, 3);
  });

  test('fewer links have more people, and the address says how many', async () => {
    let before = Infinity;
    for (const people of ['1', '2', '3', '5', '10']) {
      await open('/?hours=168&degree=2');
      await openFilters();
      await choose('min_shares', people);
      await follow('.fields button', 'Apply');
      assert.equal(new URLSearchParams(await search()).get('min_shares') ?? '1', people);
      const titles = await shown();
      assert.deepEqual(titles, await ranked(`hours=168&degree=2&min_shares=${people}`));
      if (people > '1') assert.ok((await texts('.count b')).every((count) => Number(count) >= people));
      assert.ok(titles.length < before, `at least ${people}: ${titles.length}`);
      before = titles.length;
      assert.equal(await page.eval('document.querySelector("[name=min_shares]").value'), people);
    }
  });

  test('the second degree counts more people', async () => {
    const near = (await texts('.count b')).map(Number);
    assert.deepEqual(await shown(), await ranked());
    await openFilters();
    await choose('degree', '2');
    await follow('.fields button', 'Apply');
    assert.equal(new URLSearchParams(await search()).get('degree'), '2');
    assert.deepEqual(await shown(), await ranked('degree=2'));
    const far = (await texts('.count b')).map(Number);
    const sum = (counts) => counts.reduce((all, one) => all + one, 0);
    assert.equal(sum(far), sum(ARTICLES.map(([, , , people]) => people)));
    assert.ok(sum(near) < sum(far), `${near} before ${far}`);
    assert.equal(await page.eval('document.querySelector("[name=degree]").value'), '2');
  });

  test('a dense list takes less room, and the address says so', async () => {
    const room = () => page.eval('document.querySelector(".links").offsetHeight');
    const before = await room();
    const titles = await shown();
    await openFilters();
    await press('[name=layout]');
    await follow('.fields button', 'Apply');
    assert.equal(new URLSearchParams(await search()).get('layout'), 'dense');
    assert.deepEqual(await shown(), titles);
    assert.ok(await room() < before * 0.8, `${await room()} of ${before}`);
    await page.keep('controls-dense');
  });

  test('words are searched for, and let go of', async () => {
    const titles = await shown();
    pressed.push(['input[type=search]']);
    await page.hands.fill('input[type=search]', 'kettle');
    await follow('.search button', 'Search');
    assert.equal(new URLSearchParams(await search()).get('q'), 'kettle');
    assert.deepEqual(await shown(), ['Your kettle is a clock']);
    await follow('.headline .without', 'all words');
    assert.deepEqual(await shown(), titles);
  });

  test('a site and a person have pages, and ways back', async () => {
    const titles = await shown();
    await follow('.site', 'harbourpost.example');
    assert.equal(await search(), '?domain=harbourpost.example');
    assert.deepEqual(await texts('h1'), ['harbourpost.example']);
    assert.deepEqual(await shown(), await ranked('domain=harbourpost.example'));
    assert.deepEqual(new Set(await texts('.site')), new Set(['harbourpost.example']));
    await page.keep('controls-site');
    await follow('.headline .without', 'all sites');
    const [name] = await texts('.person');
    const did = await page.eval('document.querySelector(".person").dataset.did');
    await follow('.names .person', name);
    assert.deepEqual(await texts('h1'), [`Shared by ${name}`]);
    assert.deepEqual(await shown(), await ranked(`author=${did}`));
    assert.ok((await shown()).length < titles.length);
    await page.keep('controls-person');
    await follow('.headline .without', 'by anybody');
    assert.deepEqual(await shown(), titles);
  });

  test('more is shown when there is more', async () => {
    await open('/?hours=720');
    const before = await shown();
    await follow('.on a', 'Show more');
    assert.equal(new URLSearchParams(await search()).get('limit'), '100');
    const all = await shown();
    assert.deepEqual(all.slice(0, before.length), before);
    assert.ok(all.length > before.length);
  });

  test('posts open with text, quotes and reposts, and lead to all of them', async () => {
    await open('/?degree=2');
    assert.equal(await page.eval('document.querySelector(".more").open'), false);
    await press('.more summary');
    assert.equal(await page.eval('document.querySelector(".more").open'), true);
    await page.hands.locator('.more .post').first().waitFor({ state: 'visible' });
    await page.keep('controls-posts');
    const deeds = (await texts('li:first-child .post')).map((words) =>
      / (wrote|quoted it|reposted it) /.exec(words)[1]);
    assert.deepEqual(deeds.sort(), ['quoted it', 'reposted it', 'wrote']);
    const said = await page.eval(`[...document.querySelectorAll('li:first-child .post')]
      .map((post) => [post.textContent.includes('reposted'), post.querySelector('.words') !== null])`);
    for (const [isRepost, hasWords] of said) assert.equal(hasWords, !isRepost);
    await follow('.post .person');
    assert.match((await texts('h1'))[0], /^Shared by /);
    await page.hands.goBack();
    await press('.more summary');
    await follow('.all a', 'All posts');
    assert.equal((await texts('.post')).length, ARTICLES[0][3]);
    await page.keep('controls-link');
  });

  test('a link leads where it says, and is read then; nobody is told from where', async () => {
    const [first] = await shown();
    const target = await page.eval('document.querySelector(".title").href');
    const asked = page.hands.waitForRequest(target);
    await press('.title');
    assert.equal((await asked).headers().referer, undefined);
    await page.hands.waitForURL(target);
    await page.hands.goBack();
    await page.until('document.querySelectorAll(".tools").length === 1');
    await page.until('document.querySelector(".link").classList.contains("read")');
    await press('.tools button', 'Hide read');
    assert.equal((await shown()).includes(first), false);
    assert.equal(await search(), '?show=unread');
    await follow('[aria-label=Time] a', '6 h'); // other views are so, too
    assert.equal(await search(), '?hours=6&show=unread');
    await page.until('document.querySelectorAll(".tools").length === 1');
    assert.equal((await shown()).includes(first), false);
    await press('.tools button', 'Hide read');
    assert.equal(await search(), '?hours=6');
    assert.ok((await shown()).includes(first));
    await open('/?show=unread'); // as somebody sent it
    assert.equal((await shown()).includes(first), false);
  });

  test('a post leads to where it was written', async () => {
    await press('.more summary');
    const target = await page.eval('document.querySelector("a.when").href');
    assert.match(target, /^https:\/\/bsky\.app\/profile\/did:plc:\d+\/post\/k\d+$/);
    await press('a.when');
    await page.hands.waitForURL(target);
  });

  test('links are saved, and taken out again', async () => {
    const [first] = await shown();
    await press('.save', 'Save');
    assert.equal(await page.eval('document.querySelector(".save").textContent'), 'Saved');
    await press('.tools button', 'Saved');
    assert.deepEqual(await texts('dialog[open] a'), [first]);
    await page.keep('controls-saved');
    await press('dialog[open] li button', 'Remove');
    assert.deepEqual(await texts('dialog[open] a'), []);
    await press('dialog[open] .close', 'Close');
    assert.deepEqual(await texts('dialog[open]'), []);
    assert.equal(await page.eval('document.querySelector(".save").textContent'), 'Save');
  });

  test('sites, people and words are muted, and heard again', async () => {
    await open('/?degree=2');
    const titles = await shown();
    await press('.mute summary', 'Mute');
    await press('.mute-choices button', 'Mute harbourpost.example');
    assert.equal((await shown()).length, titles.length - 2);
    await press('li:not([hidden]) .mute summary', 'Mute');
    const [name] = await texts('li:not([hidden]) .names .person');
    const posts = `[...document.querySelectorAll('.post')]
      .filter((post) => !post.hidden && post.querySelector('.person').textContent === ${JSON.stringify(name)}).length`;
    assert.ok(await page.eval(posts) > 0);
    await press('li:not([hidden]) .mute-choices button', `Mute ${name}`);
    assert.equal(await page.eval(posts), 0);
    await press('.tools button', 'Muted');
    pressed.push(['.mute-word input']);
    await page.hands.fill('.mute-word input', 'Kettle');
    await press('.mute-word button', 'Mute this word');
    await page.keep('controls-muted');
    assert.equal((await shown()).length, titles.length - 3);
    for (let left = 3; left > 0; left--) {
      assert.equal((await texts('dialog[open] li')).length, left);
      await press('dialog[open] li button', 'Unmute');
    }
    assert.deepEqual(await shown(), titles);
    assert.ok(await page.eval(posts) > 0);
  });

  test('what came since the last visit is shown alone', async () => {
    const all = await shown();
    await page.leftAgo(120);
    await open();
    await press('.tools button', 'since your last visit');
    const fresh = await shown();
    assert.deepEqual(new Set(fresh), new Set(await texts('.fresh .title')));
    assert.ok(fresh.length > 0 && fresh.length < all.length);
    assert.equal(await search(), '?show=new');
    await open('/?show=new');
    assert.deepEqual(await shown(), fresh);
    await press('.tools button', 'since your last visit');
    assert.deepEqual(await shown(), all);
  });

  test('the colours are the system’s, light or dark', async () => {
    const paper = () => page.eval('getComputedStyle(document.body).backgroundColor');
    const system = await paper();
    await press('.theme', 'Auto');
    await press('.theme', 'Light');
    assert.notEqual(await paper(), system);
    await page.keep('controls-dark');
    await press('.theme', 'Dark');
    assert.equal(await paper(), system);
  });

  test('keys are told, the beginning is one step away, the banner leads on', async () => {
    await press('.tools button', 'Keys');
    assert.match((await texts('dialog[open]'))[0], /next link/);
    await press('dialog[open] .close', 'Close');
    pressed.push(['.skip']);
    await open();
    await page.press('Tab');
    assert.equal(await page.eval('document.activeElement.className'), 'skip');
    await page.press('Enter');
    assert.equal(await page.eval('location.hash'), '#content');
    await follow('.places a', 'Status');
    assert.equal(await page.eval('location.pathname'), '/status');
    await follow('.places a', 'News');
    await open('/?hours=6');
    await follow('.brand');
    assert.equal(await page.eval('location.pathname + location.search'), '/');
  });

  test('nothing else can be pressed', async () => {
    await page.leftAgo(120);
    for (const path of ['/', '/?hours=720', '/?q=kettle&domain=fieldnotes.example', '/?author=did:plc:2&hours=168']) {
      await open(path);
      await page.eval(`document.querySelectorAll('details').forEach((part) => { part.open = true; })`);
      await page.until('document.querySelectorAll(".mute-choices button").length > 0');
      const unknown = await page.eval(`(() => {
        const known = ${JSON.stringify(pressed)};
        return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary')]
          .filter((e) => !e.closest('dialog, footer, [hidden]') && !e.hidden)
          .filter((e) => !known.some(([selector, words]) => e.matches(selector) &&
            (!words || e.matches('.person, .site, .mute-choices button') || e.textContent.includes(words))))
          .map((e) => e.outerHTML.slice(0, 120));
      })()`);
      assert.deepEqual(unknown, [], path);
    }
    assert.deepEqual(page.complaints, []);
  });
});
