// SPDX-License-Identifier: Apache-2.0
//
// live.js - the page goes on living: counts change where they stand, new links wait to be shown.
//
// The daemon tells that links changed; then the same page is asked for again, and what is different
// is taken over from it. There is one maker of pages, and it is not here. Nothing that the reader
// looks at moves: links keep their places, and new ones are only counted until the reader asks.

import { make, makeButton } from './elements.js';
import { fetchPage } from './page-fetch.js';

const AGE_S = 1; // all who have this page open may share one that the daemon made
const QUIET_MS = 1000 * AGE_S; // or a change that was told would not be on that page yet
const SPREAD_MS = 500; // they need not all ask at once
const PAUSE_MS = 3000; // between two looks
const AGAIN_MS = 2000;
const AWAY = 'The daemon does not answer; trying again.';
const OFFLINE = 'You are offline.';

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A handle of the query whose changes are followed. */
async function openLinks() {
  const answer = await fetch('/api/data/query-open', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ collection: 'links', count: 'none', pageSize: 1 }),
  });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return (await answer.json()).queryHandle;
}

function articlesIn(root) {
  return new Map([...root.querySelectorAll('.link')].map((article) => [article.dataset.id, article]));
}

/** Parts of a link that may come and go, each with what it stands before. */
const PASSING = {
  '.address': '.source',
  '.about': '.also, .sharers',
  '.also': '.sharers',
  '.posts': '.all',
};

/** Has a part say what is said by now; false: not yet, as the reader is in the midst of it. */
function take(old, fresh, selector) {
  const mine = old.querySelector(selector);
  const theirs = fresh.querySelector(selector);
  const here = document.activeElement;
  if (!mine || !theirs || mine.textContent === theirs.textContent) return true;
  if (mine !== here && mine.contains(here)) return false;
  mine.replaceChildren(...document.importNode(theirs, true).childNodes);
  return true;
}

/** The same for one that may be new, or gone. */
function takePassing(old, fresh, selector) {
  const mine = old.querySelector(selector);
  const theirs = fresh.querySelector(selector);
  if (mine && theirs) return take(old, fresh, selector);
  if (mine?.contains(document.activeElement)) return false;
  mine?.remove();
  if (theirs) old.querySelector(PASSING[selector]).before(document.importNode(theirs, true));
  return true;
}

/** A picture stands last. One that is there already is not loaded anew. */
function takePicture(old, fresh) {
  const mine = old.querySelector('.picture');
  const theirs = fresh.querySelector('.picture');
  if (mine?.getAttribute('src') === theirs?.getAttribute('src')) return;
  mine?.remove();
  if (theirs) old.append(document.importNode(theirs, true));
  old.classList.toggle('pictured', theirs !== null);
}

/** Has a link say what is said of it by now; false: something of it is owed. */
function takeLink(old, fresh) {
  const still = old.querySelector('.more').open ? [] : ['.posts'];
  const taken = [
    ...['.title', '.count', '.sharers', '.why', '.more > summary'].map((part) =>
      take(old, fresh, part)),
    ...['.address', '.about', '.also', ...still].map((part) => takePassing(old, fresh, part)),
  ];
  takePicture(old, fresh);
  return taken.every((done) => done);
}

export class Live {
  #page; // the newest, as fetched
  #stream;
  #turn = 0; // of following; whoever waited while it changed has nothing to do any more
  #asked = false;
  #again = false; // something changed while a look was under way
  #owes = false; // a part was left as it was for the reader's sake
  #pill = makeButton('', () => this.showNew(), { className: 'pill', hidden: true });
  #state = make('p', { className: 'offline', role: 'status', hidden: true });
  #changed;
  #isHidden;
  #shown;

  /** `changed` is called after the list has been touched, `shown` when the reader asked for it;
   *  `isHidden` says of a link whether the reader does not want to see it. */
  constructor({ changed, isHidden, shown }) {
    this.#changed = changed;
    this.#isHidden = isHidden;
    this.#shown = shown;
    document.querySelector('.standing').after(this.#state);
    document.body.append(make('div', { className: 'pill-place', 'aria-live': 'polite' }, this.#pill));
    addEventListener('offline', () => this.#tellTrouble());
    addEventListener('online', () => this.look());
    document.addEventListener('focusout', () => this.#owes && this.look());
  }

  /** Follows the daemon while the page is seen: a browser has few connections to give. */
  start() {
    const follow = () => {
      this.#turn++;
      this.#stream?.close();
      this.#stream = undefined;
      if (!document.hidden) this.#follow();
    };
    document.addEventListener('visibilitychange', follow);
    follow();
  }

  async #follow() {
    const turn = ++this.#turn;
    try {
      const handle = await openLinks();
      if (turn !== this.#turn) return;
      this.look(); // what changed before the query was opened is told by nobody
      const stream = new EventSource(`/api/events?queryHandle=${handle}`);
      this.#stream = stream;
      stream.onmessage = ({ data }) => JSON.parse(data).changes.length > 0 && this.look();
      stream.onopen = () => this.#tell('');
      stream.onerror = () => {
        this.#tellTrouble();
        // The daemon may have forgotten the query; a stream that was refused does not come back.
        if (stream.readyState === EventSource.CLOSED) this.#followLater();
      };
    } catch {
      if (turn !== this.#turn) return;
      this.#tellTrouble();
      this.#followLater();
    }
  }

  async #followLater() {
    const turn = this.#turn;
    await wait(AGAIN_MS);
    if (turn !== this.#turn || document.hidden) return;
    this.#stream?.close();
    this.#follow();
  }

  /** Looks at the page again soon; once for however many changes. */
  async look() {
    this.#again = this.#asked;
    if (this.#asked) return;
    this.#asked = true;
    await wait(QUIET_MS + Math.random() * SPREAD_MS);
    try {
      this.#page = await fetchPage(location.href, AGE_S);
      this.#tell('');
      this.#takeOver();
    } catch {
      this.#tellTrouble();
    }
    await wait(PAUSE_MS);
    this.#asked = false;
    if (this.#again) this.look();
  }

  /** Shows the newest page in its own order; what is open stays open. */
  showNew() {
    const list = document.querySelector('.links');
    const theirs = this.#page?.querySelector('.links');
    if (!theirs) return;
    const mine = articlesIn(document);
    const items = [...theirs.children].map((item) => document.importNode(item, true));
    for (const item of items) {
      const old = mine.get(item.querySelector('.link').dataset.id);
      item.querySelector('.more').open = old?.querySelector('.more').open ?? false;
    }
    if (list) list.replaceChildren(...items);
    else document.querySelector('.empty').replaceWith(make('ol', { className: 'links' }, ...items));
    this.#shown();
    this.#changed();
    scrollTo({ top: 0 });
    document.querySelector('.links > li:not([hidden]) .title')?.focus({ preventScroll: true });
  }

  /** Counts the new links that the reader would see. */
  count() {
    const mine = articlesIn(document);
    const fresh = [...(this.#page ? articlesIn(this.#page) : [])]
      .filter(([id, article]) => !mine.has(id) && !this.#isHidden(article)).length;
    this.#pill.textContent = `${fresh} new ${fresh === 1 ? 'link' : 'links'}`;
    this.#pill.hidden = fresh === 0;
  }

  #takeOver() {
    const fresh = articlesIn(this.#page);
    const taken = [...articlesIn(document)].map(([id, article]) =>
      !fresh.has(id) || takeLink(article, fresh.get(id)));
    const standing = document.querySelector('.standing');
    standing.className = this.#page.querySelector('.standing').className;
    taken.push(take(document, this.#page, '.standing'));
    this.#owes = !taken.every((done) => done);
    this.#changed();
  }

  #tellTrouble() {
    this.#tell(navigator.onLine ? AWAY : OFFLINE);
  }

  #tell(words) {
    this.#state.textContent = words;
    this.#state.hidden = words === '';
  }
}
