// SPDX-License-Identifier: Apache-2.0
//
// Addresses as our reader and as Node's URL reads them (both claim the WHATWG rules): made-up
// ones, most of them hostile. What we take, Node takes, and it prints the same, but for user names,
// which we drop. What only we refuse is refused for its host, which we are stricter about, for port
// 0, or for its length. What only we take is a name in letters and digits that claims to be written
// in others (xn--) and is not. A ^ in a path is escaped by the newer rules only, and Node forgets a
// page's empty query.
//
//   PEER_READER names the program; TIDEMARK_SEED the first seed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const SEED = Number(process.env.TIDEMARK_SEED ?? 8);
const COUNT = process.env.TIDEMARK_LONG === undefined ? 20000 : 200000;
const PRINTED_MAX = 4096;
const HOST_MAX = 253;
const LABEL_MAX = 63;

const SCHEMES = ['http:', 'https:', 'HTTP:', 'ht\ttps:', 'http', 'ftp:', 'javascript:', ' https:', ''];
const SLASHES = ['//', '//', '//', '/', '\\\\', '///', '', '/\\'];
const USERS = ['', '', '', '', 'a@', 'a:b@', '@', 'a@b@', ':@', '%40@'];
const HOSTS = [
  'a.example', 'A.EXAMPLE', 'example', 'a.example.', 'a..example', '.a.example', 'a_b.example',
  '-a.example', 'b\u00fccher.example', 'fa\u00df.example', '\u65e5\u672c.example',
  'xn--bcher-kva.example', 'xn--a', 'xn--', '%61.example', '%00.example', '%2e.example', 'a%.example',
  '127.0.0.1', '0x7f.1', '017700000001', '2130706433', '256.1.1.1', '1.2.3.4.5', '1.2.3.', '09.1',
  '0x', '0x.0x.0', '4294967295', '4294967296', '1.2.65536', '1.2.65535', '[::1]', '[1:2::3]',
  '[::ffff:1.2.3.4]', '[1:2:3:4:5:6:7:8]', '[::1', '[::1]a', '[1::2::3]', '[g::]', '[0:0:1::0:0]',
  'a b.example', 'a<b', 'a\u00adb.example', '\uff41.example', 'a\u3002example', '', 'a\tb.example',
  `${'l'.repeat(63)}.example`, `${'l'.repeat(64)}.example`, 'a^b.example', 'a|b', 'a%7Fb', '\u{1f600}.example',
];
const PORTS = ['', '', '', ':80', ':443', ':8080', ':0', ':', ':65535', ':65536', ':080', ':a', ':-1'];
const PATHS = [
  '', '/', '/a/b', '/a/../b', '/a/./b/', '/..', '/../..', '/a/%2e%2E/b', '/.%2e', '/a//b', '\\a\\..\\b',
  '/a b', '/\u00e4', '/%zz', '/a;b=c', '/"<>`{}', '/a|b^c', "/'", '/\u0000', '/\u007f', '/a\nb', '/...',
  '/\ud800', '/\u{1f600}', '/a/..;/b', '/[x]', '/@:!$&', '/a/.', '/a/..',
];
const QUERIES = ['', '', '?', '?a=b', '?a=b&c', '?\u00e4', "?a'b", '?"<>', '?a#b?c', '?%zz', '?a\tb', '?\\', '?a b'];
const FRAGMENTS = ['', '', '#', '#x', '#\u00e4', '#a#b', '#"<>`', '#a b', '#\\', '#{}|'];
const ODD = ['\u0000', '\t', '\n', ' ', '\\', '%', '%2', '@', ':', '/', '?', '#', '[', ']', '.', '\u00e9', '\ufeff', '|'];

/** A small generator of our own: equal seeds give equal inputs on every version of Node. */
function chanceOf(seed) {
  let state = BigInt(seed) + 1n;
  return (below) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(below));
  };
}

function make(chance) {
  const pick = (list) => list[chance(list.length)];
  let text = [SCHEMES.slice(0, chance(3) ? 2 : SCHEMES.length), SLASHES.slice(0, chance(3) ? 3 : SLASHES.length),
    USERS, chance(4) ? HOSTS : HOSTS.slice(0, 3), PORTS, PATHS, QUERIES, FRAGMENTS].map(pick).join('');
  for (let i = chance(3); i > 0; i--) {
    const at = chance(text.length + 1);
    text = text.slice(0, at) + (chance(2) ? pick(ODD) : '') + text.slice(at + chance(2));
  }
  return text;
}

function makeReference(chance) {
  const pick = (list) => list[chance(list.length)];
  const begin = pick(['', '', '//', '/', 'https:', 'x/', '../', './', '?', '#', 'a/../..', '\\', 'http:/']);
  return begin + pick([...PATHS, ...HOSTS.slice(0, 12)]) + pick(QUERIES) + pick(FRAGMENTS);
}

/** What a browser would ask for, or null. */
function nodeReads(text, base) {
  const read = (input, on) => {
    try {
      const url = new URL(input, on);
      return url.protocol === 'http:' || url.protocol === 'https:' ? url : null;
    } catch {
      return null;
    }
  };
  const page = base === undefined ? read(text) : read(base);
  const url = page === null || base === undefined ? page : read(text, page);
  for (const each of [page, url]) {
    if (each === null) continue;
    each.username = '';
    each.password = '';
  }
  return { page, url };
}

/** Whether we may be stricter about this host than a browser is. */
function hostDivides(url) {
  if (url.hostname.startsWith('[')) return false;
  const labels = url.hostname.replace(/\.$/, '').split('.');
  return url.hostname.length > HOST_MAX + 1
    || labels.some((label) => !/^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/.test(label) || label.length > LABEL_MAX
      || label.startsWith('xn--'));
}

function escapeCaret(url) {
  return url.href.replace(url.origin + url.pathname, url.origin + url.pathname.replaceAll('^', '%5E'));
}

function judge({ text, base }, answer) {
  const { page, url } = nodeReads(text, base);
  if (answer.startsWith('+')) {
    const ours = answer.slice(1);
    if (url === null) return `${ours} ${base}`.includes('xn--') ? null : `only we take it, as ${ours}`;
    return [url.href, escapeCaret(url)].some((theirs) => ours === theirs || ours.replace('?#', '#') === theirs)
      ? null : `${answer}, and Node reads ${url.href}`;
  }
  if (url === null || url.href.length > PRINTED_MAX) return null;
  return hostDivides(url) || hostDivides(page) || url.port === '0' || page.port === '0' ? null : `only we refuse it (${answer}), Node reads ${url.href}`;
}

function ask(inputs) {
  const hex = (text) => Buffer.from(text.toWellFormed?.() ?? text, 'utf8').toString('hex');
  const told = inputs.map(({ text, base }) =>
    (base === undefined ? hex(text) : `${hex(base)} ${hex(text)}`)).join('\n');
  const run = spawnSync(process.env.PEER_READER, ['url'],
    { input: `${told}\n`, encoding: 'utf8', maxBuffer: 1 << 30 });
  assert.equal(run.status, 0, run.stderr);
  return run.stdout.split('\n').slice(0, -1);
}

function compare(inputs) {
  const answers = ask(inputs);
  assert.equal(answers.length, inputs.length);
  const wrong = inputs.map((input, i) => [input, judge(input, answers[i])]).filter(([, fault]) => fault !== null);
  const taken = answers.filter((answer) => answer.startsWith('+')).length;
  console.log(`peer_url: ${inputs.length} addresses from seed ${SEED}, ${taken} taken, ${wrong.length} differ`);
  assert.deepEqual(wrong.slice(0, 20), []);
  // One that takes all or none compares nothing.
  assert.ok(taken > inputs.length / 10 && taken < inputs.length, `${taken} taken`);
}

test('addresses are read as a browser reads them', () => {
  const chance = chanceOf(SEED);
  compare(Array.from({ length: COUNT }, () => ({ text: make(chance) })));
});

test('references are resolved as a browser resolves them', () => {
  const chance = chanceOf(SEED + 1);
  compare(Array.from({ length: COUNT / 2 }, () => {
    const base = make(chance);
    return { text: makeReference(chance), base };
  }));
});
