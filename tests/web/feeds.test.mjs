// SPDX-License-Identifier: Apache-2.0
//
// The feeds of what is shared, read by parsers that nobody here wrote.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { Daemon } from './daemon.mjs';
import { ARTICLES, articlesSql, fill, linkSql, peopleSql } from './news_world.mjs';
import { load } from './packages.mjs';

// The package is Debian's, and so is the Python that finds it.
const PYTHON = '/usr/bin/python3';
const READ = `import feedparser, json, sys
feed = feedparser.parse(sys.stdin.buffer.read())
print(json.dumps({"bozo": bool(feed.bozo), "version": feed.version, "title": feed.feed.title,
  "link": feed.feed.link, "items": [{"title": e.title, "link": e.link, "id": e.id,
  "summary": e.summary, "time": e.published_parsed[:6]} for e in feed.entries]}))`;
const { parseJsonFeed } = load('feedsmith');
const VIEWS = ['', '?hours=6&sort=recent', '?hours=1', '?hours=720&degree=2', '?sort=velocity',
  '?min_shares=3', '?domain=harbourpost.example', '?author=did:plc:3', '?q=kettle', '?limit=3',
  '?layout=dense', '?q=no-such-word'];
const HOSTILE = '<script>alert(1)</script> & "more" ]]> \u202Eend';

function parse(bytes) {
  return JSON.parse(execFileSync(PYTHON, ['-c', READ], { input: bytes, encoding: 'utf8' }));
}

describe('feeds', () => {
  let daemon;
  const nowUs = Math.floor(Date.now() / 1000) * 1e6;
  const get = (path, headers = {}) => fetch(new URL(path, daemon.url), { headers });
  /** Of two that rise as fast, the order may change with the clock. */
  const inOrder = (query, urls) => (query.includes('velocity') ? [...urls].sort() : urls);
  const ranked = async (query) => (await (await get(`/api/trending${query}`)).json()).links;

  before(async () => {
    daemon = await Daemon.start();
    await fill(daemon, peopleSql() + articlesSql(nowUs) + linkSql(90, {
      title: HOSTILE, about: HOSTILE, domain: 'hostile.example', people: 1, ageMinutes: 10,
    }, nowUs));
  });
  after(() => daemon.remove());

  test('RSS is what a parser of others understands, for every view', async () => {
    for (const query of VIEWS) {
      const answer = await get(`/feed.xml${query}`);
      assert.match(answer.headers.get('content-type'), /^application\/rss\+xml/);
      const feed = parse(Buffer.from(await answer.arrayBuffer()));
      const links = await ranked(query);
      assert.equal(feed.bozo, false);
      assert.equal(feed.version, 'rss20');
      assert.equal(new URL(feed.link).search, query);
      assert.deepEqual(inOrder(query, feed.items.map((item) => item.link)),
        inOrder(query, links.map((link) => link.url)), query);
      assert.deepEqual(feed.items.map((item) => Date.UTC(item.time[0], item.time[1] - 1,
        ...item.time.slice(2))), links.map((link) => Date.parse(link.first_shared_at)));
      assert.equal(new Set(feed.items.map((item) => item.id)).size, links.length);
    }
  });

  test('hostile words stay words', async () => {
    const { items } = parse(Buffer.from(await (await get('/feed.xml?q=script')).arrayBuffer()));
    assert.equal(items[0].title, HOSTILE);
    assert.doesNotMatch(items[0].summary, /<script/);
    const feed = await (await get('/feed.json?q=script')).json();
    assert.equal(feed.items[0].title, HOSTILE);
    assert.doesNotMatch(feed.items[0].content_html, /<script/);
  });

  test('JSON Feed says the same, to a parser of others, too', async () => {
    for (const query of VIEWS) {
      const answer = await get(`/feed.json${query}`);
      assert.equal(answer.headers.get('content-type'), 'application/feed+json');
      const text = await answer.text();
      assert.equal(JSON.parse(text).version, 'https://jsonfeed.org/version/1.1');
      const feed = parseJsonFeed(text);
      const links = await ranked(query);
      assert.equal(feed.feed_url, new URL(`/feed.json${query}`, daemon.url).href);
      assert.equal(feed.home_page_url, new URL(`/${query}`, daemon.url).href);
      const items = feed.items ?? [];
      assert.deepEqual(inOrder(query, items.map((item) => item.url)),
        inOrder(query, links.map((link) => link.url)), query);
      assert.equal(new Set(items.map((item) => item.id)).size, links.length);
      for (const { date_published: at } of items) assert.ok(Date.parse(at) <= Date.now(), at);
    }
    const feed = parseJsonFeed(await (await get('/feed.json?min_shares=3')).text());
    assert.equal(feed.items.length, ARTICLES.filter(([, , , people]) => people >= 3).length);
    assert.match(feed.items[0].content_html, /Shared by .* and 12 more\./);
  });

  test('a digest says the same, with and without a daemon', async () => {
    const formats = ['text', 'markdown', 'html'];
    const digests = () => formats.map((format) =>
      daemon.command('digest', '--hours', '24', '--limit', '5', '--format', format));
    const running = digests();
    const links = await ranked('?limit=5&stories=1');
    for (const digest of running) assert.match(digest, /What was shared in the last 24 hours: 5 stories/);
    for (const link of links) assert.ok(running.every((digest) => digest.includes(link.url)));
    await daemon.end();
    assert.deepEqual(digests(), running);
    await daemon.begin();
  });

  test('every view tells where its feeds are, and who has one already is told so', async () => {
    for (const query of VIEWS) {
      const page = await (await get(`/${query}`)).text();
      const feeds = [...page.matchAll(
        /<link rel="alternate" type="application\/(rss\+xml|feed\+json)" [^>]*href="([^"]*)">/g)]
        .map(([, type, href]) => [type, href.replaceAll('&amp;', '&')]);
      assert.deepEqual(feeds, [['rss+xml', `/feed.xml${query}`], ['feed+json', `/feed.json${query}`]]);
      for (const [type, path] of feeds) {
        const answer = await get(path);
        assert.equal(answer.status, 200, path);
        assert.ok(answer.headers.get('content-type').startsWith(`application/${type}`), path);
        const etag = answer.headers.get('etag');
        assert.match(etag, /^(W\/)?"[0-9a-f]{32}"$/);
        assert.equal((await get(path, { 'If-None-Match': '"else"' })).status, 200);
        // What rises may be another order by now; then the feed is another one, too.
        const again = await get(path, { 'If-None-Match': etag });
        if (!query.includes('velocity')) assert.equal(again.status, 304, path);
      }
    }
  });

  test('a story is told once, with all the places that tell it', async () => {
    const twin = (id, domain, url) => linkSql(id, {
      title: `Bridge over the sound opens after ten years | ${domain}`, about: null, domain, url,
      people: 1, ageMinutes: 60 + id,
    }, nowUs);
    const hostile = 'https://c.example/"><script>alert(1)</script>&x';
    await fill(daemon, twin(91, 'a.example') + twin(92, 'b.example') + twin(93, 'c.example', hostile));
    const query = '?q=bridge&sort=recent';
    const [first, ...others] = await ranked(query);
    assert.deepEqual(others.map((other) => other.domain), ['b.example', 'c.example']);
    const rss = parse(Buffer.from(await (await get(`/feed.xml${query}`)).arrayBuffer()));
    const { items } = await (await get(`/feed.json${query}`)).json();
    assert.deepEqual([rss.items.map((item) => item.link), items.map((item) => item.url)],
      [[first.url], [first.url]]);
    const escaped = hostile.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
      .replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const at = (url, domain) => new RegExp(
      `<a href="${url.replaceAll(/[.?()]/g, '\\$&')}"[^>]*>[^/]*${domain}.*?</a> \\(1\\)`);
    assert.match(items[0].content_html, /<p>Also at <a /);
    assert.match(items[0].content_html, at('https://b.example/92', 'b.example'));
    assert.match(items[0].content_html, at(escaped, 'c.example'));
    assert.match(rss.items[0].summary, at('https://b.example/92', 'b.example'));
    for (const words of [items[0].content_html, rss.items[0].summary])
      assert.doesNotMatch(words, /<script/);
  });
});
