// SPDX-License-Identifier: Apache-2.0
//
// page.js - the links that people share, in the list at /.

import { connect } from './tidemark.js';
import './tide-scroller.js';

const LINKS_MAX = 100;
const NAMES_SHOWN = 3;
const TYPING_MS = 300;

const db = connect(location.origin);
const list = document.querySelector('#links');
const choice = document.querySelector('#choice');
const notice = document.querySelector('#notice');

function namesOf(sharers, people) {
  const names = sharers
    .slice(0, NAMES_SHOWN)
    .map((who) => who.displayName || who.handle || who.did);
  const others = people - names.length;
  return others > 0 ? `${names.join(', ')} and ${others} more` : names.join(', ');
}

function rowOf(link) {
  return {
    ...link,
    headline: link.title || link.url,
    people: link.shares === 1 ? 'person' : 'people',
    names: namesOf(link.sharers, link.shares),
  };
}

function tellGaps({ gaps, complete_since: since }) {
  notice.hidden = gaps.length === 0;
  if (gaps.length === 0) return;
  const from = since ? new Date(since).toLocaleString() : undefined;
  notice.textContent =
    `${gaps.length} ${gaps.length === 1 ? 'interval' : 'intervals'} of this time could not be ` +
    `read yet${from ? `; from ${from} on nothing is known to be missing` : ''}.`;
}

/** One page, the whole answer: the ranking is not a walk. */
function trendingSource(parameters) {
  return {
    open: ({ signal }) => ({
      async next() {
        const answer = await db.trending(parameters, { signal });
        tellGaps(answer);
        const items = answer.links.map(rowOf);
        return { items, hasMore: false, totalCount: items.length };
      },
      close() {},
    }),
  };
}

function show() {
  const wanted = Object.fromEntries(new FormData(choice));
  if (!wanted.q) delete wanted.q;
  list.source = trendingSource({ ...wanted, limit: LINKS_MAX });
}

let typing;
choice.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(show, TYPING_MS);
});
choice.addEventListener('submit', (event) => event.preventDefault());
show();
