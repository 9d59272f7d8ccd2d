// SPDX-License-Identifier: Apache-2.0
//
// news_world.mjs - a store with invented people who share invented articles, written from outside.

const MINUTE_US = 60e6;

export const PEOPLE = [
  'Ada Brandt', 'Bo Lindqvist', 'Chiara Moretti', 'Dele Okafor', 'Ewa Nowak', 'Farid Haddad',
  'Grace Mbeki', 'Hiro Tanaka', 'Inés Castro', 'Jonas Weber', 'Kirra Dawson', 'Lena Petrova',
  'Mateo Silva', 'Nadia Rahman', 'Oskar Lund', 'Priya Nair', 'Quentin Moreau', 'Rosa Delgado',
  'Sam Whitlock', 'Tova Berg', 'Uma Krishnan', 'Viktor Hálek', 'Wren Ashdown', 'Ximena Ortiz',
];

/** [title, site, description, people, age of the first share in minutes] */
export const ARTICLES = [
  ['The tide gauges nobody was reading', 'harbourpost.example',
    'For eleven years a chain of instruments on the northern coast kept writing to a server that had been switched off. What they recorded is the longest unbroken series of its kind.', 17, 310],
  ['Night trains are back, and this time they break even', 'continental.example',
    'Four operators opened their books. The surprise is not the passengers but the parcels in the last carriage.', 14, 200],
  ['A city that lets its rivers out of the pipe', 'urbanist.example',
    'Eight kilometres of culvert, opened one block at a time. The first summer was two degrees cooler along the banks.', 12, 640],
  ['Inside the library that lends telescopes', 'openshelf.example',
    'It began with one reflector and a waiting list. Now the whole valley turns its lights down on Thursdays.', 9, 95],
  ['We measured every lamp on our street', 'evening-courier.example',
    'Neighbours, a borrowed luxmeter and a spreadsheet: how a residents’ group cut a lighting bill by half.', 8, 820],
  ['The quiet return of the repair café', 'harbourpost.example', 'Three hundred toasters later.', 7, 55],
  ['How a small database survived a large flood', 'fieldnotes.example',
    'Power went first, then the network, then the building. The write-ahead log did not mind.', 6, 700],
  ['Sheep, solar panels, and an unexpected truce', 'ruralweekly.example', null, 5, 1100],
  ['What the moss remembers', 'longreads.example',
    'A walk across the oldest bog in the country with the woman who reads it layer by layer.', 4, 1300],
  ['Draft standard for ferry timetables published', 'openstandards.example', null, 3, 35],
  ['Your kettle is a clock', 'fieldnotes.example',
    'A short history of grid frequency, told through kitchen appliances.', 3, 400],
  [null, 'paste.example', null, 2, 20],
];

const WORDS = [
  'This is the best thing I have read all week.',
  'Worth your time, especially the part about the parcels.',
  'I had no idea. Sending this to everyone at work.',
  'The charts alone are worth it.\n\nAnd they published the raw data.',
  'More of this, please.',
];

const quote = (value) =>
  value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
const row = (table, values) =>
  `INSERT INTO ${table} (${Object.keys(values)}) VALUES (${Object.values(values).map(quote)});`;

const WINDOWS_MIN = [1, 6, 24, 72, 168, 720].map((hours) => hours * 60);
const CALM_MIN = 10; // so long no share leaves a window: what is compared meanwhile stays the same

/** An age that leaves no window soon. */
function calmAge(minutes) {
  const border = WINDOWS_MIN.find((window) => minutes <= window) ?? Infinity;
  return Math.min(minutes, border - CALM_MIN);
}

/** One link that the first `people` of the world share, as SQL. */
export function linkSql(id, { title, domain, about, people, ageMinutes, url, first = 0 }, nowUs) {
  const at = (i) => Math.floor(nowUs - calmAge(ageMinutes * (1 - (0.9 * i) / people)) * MINUTE_US);
  const firstUs = at(0);
  const address = url ?? `https://${domain}/${id}`;
  const sql = [row('links', {
    id, normalized_url: address, original_url: address, title, description: about, domain,
    share_count_total: people, first_shared_us: firstUs, last_shared_us: at(people - 1), flags: 0,
    seq: 1,
  })];
  for (let i = 0; i < people; i++) {
    const actor = 1001 + ((first + i) % PEOPLE.length);
    const n = id * 100 + i;
    const repost = i % 4 === 3;
    const via = repost ? 'repost' : i % 5 === 4 ? 'quote' : 'post';
    sql.push(
      row('post', {
        n, seq: 1, actor, collection: `app.bsky.feed.${repost ? 'repost' : 'post'}`, rkey: `k${n}`,
        kind: repost ? 1 : 0, shared_us: at(i), body: repost ? null : WORDS[(id + i) % WORDS.length],
      }),
      row('post_links', { post_id: n, link_id: id, via, actor }),
      row('share', { link_id: id, actor, last_us: at(i), n_posts: 1, counted: 1 }),
    );
  }
  return sql.join('\n');
}

export function peopleSql() {
  return PEOPLE.map((name, i) => row('actors', {
    id: 1001 + i, did: `did:plc:${i}`, display_name: name,
    handle: `${name.split(' ')[0].toLowerCase().normalize('NFD').replace(/[^a-z]/g, '')}.example`,
  })).join('\n');
}

export function articlesSql(nowUs) {
  return ARTICLES.map(([title, domain, about, people, ageMinutes], i) =>
    linkSql(i + 1, { title, domain, about, people, ageMinutes, first: i * 5 }, nowUs)).join('\n');
}

export function gapSql(nowUs) {
  return row('gaps', {
    id: 1, source: 'jetstream', stream: 'live', from_us: nowUs - 300 * MINUTE_US,
    to_us: nowUs - 290 * MINUTE_US, reason: 'the connection was lost', detected_us: 1, seq: 1,
  });
}

/** Titles that strangers write to do harm. */
export const HOSTILE = [
  '<script>document.title = "taken"</script><img src=x onerror=document.title="taken">',
  '\u202Eelpmaxe.txt\u202E and after',
  'w'.repeat(10240),
  '"><a href="javascript:alert(1)">',
];

export function hostileSql(nowUs) {
  return HOSTILE.map((title, i) => linkSql(50 + i, {
    title, about: title, domain: 'hostile.example', people: 1, ageMinutes: 3000 + i,
    url: i === 3 ? 'javascript:alert(1)' : undefined,
  }, nowUs)).join('\n');
}

/** One story at two sites, and what only looks like it. */
export function storySql(nowUs) {
  return [
    ['Bridge over the sound opens after ten years', 'first.example', 4],
    ['Bridge over the Sound opens, after ten years | Second', 'second.example', 3],
    ['Bridge over the sound opens after 12 years', 'third.example', 2],
  ].map(([title, domain, people], i) => linkSql(60 + i, {
    title, about: null, domain, people, ageMinutes: 5000,
  }, nowUs)).join('\n');
}

/** What came and could not be used. */
export function refusedSql(nowUs) {
  return `INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, at_us, times, seq)
    VALUES (1, 'jetstream', NULL, x'00', CAST('</pre><img src=x onerror=alert(1)>' || x'0aff' AS BLOB),
            36, 'not <i>JSON</i>', ${nowUs}, 3, 1);`;
}

/** The title that the page gives a link of the API. */
export function titleOf({ title, url }) {
  return title ?? url.replace(/^https:\/\/(.*)\/(\w+)$/, '$1: $2');
}

/** Writes SQL into the store of a daemon, which stops for it and starts again. */
export async function fill(daemon, sql) {
  await daemon.end();
  daemon.sql(`BEGIN; ${sql} COMMIT;`);
  await daemon.begin();
}
