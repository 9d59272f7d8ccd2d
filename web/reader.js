// SPDX-License-Identifier: Apache-2.0
//
// reader.js - what a reader has read, saved and muted, and which links are therefore not shown.
//
// All of it stays in the browser. The daemon's own mutes (news.mute_*) are another matter: they
// hold for everybody and before anything is ranked; these only hide.

import { KeptList, keep, listenToTabs, recall } from './memory.js';
import { isShownOnly, noteShown } from './view.js';

const READ_MAX = 5000;
const SAVED_MAX = 500;
const MUTES_MAX = 500;
const AWAY_MS = 30 * 60000; // who is away for longer comes for another visit

/** Begins a visit, or goes on with one; when the one before it ended, undefined: this is the first. */
function lastVisit(now) {
  const last = Number(recall('visit.last', '0'));
  if (last > 0 && now - last > AWAY_MS) keep('visit.before', String(last));
  keep('visit.last', String(now));
  return Number(recall('visit.before', '0')) || undefined;
}

function domainIsIn(domain, list) {
  return list.items.some((muted) => domain === muted || domain.endsWith(`.${muted}`));
}

/** What is known of a link, from the page itself. */
export function linkOf(article) {
  const title = article.querySelector('.title');
  return {
    id: article.dataset.id,
    title: title.textContent,
    url: title.href,
    domain: article.querySelector('.site')?.textContent ?? '',
    about: article.querySelector('.about')?.textContent ?? '',
    people: [...article.querySelectorAll('.names .person')].map((a) => a.dataset.did),
    count: Number(article.querySelector('.count b').textContent),
    firstMs: Date.parse(article.dataset.first),
  };
}

export class Reader extends EventTarget {
  read = new KeptList('read', READ_MAX);
  saved = new KeptList('saved', SAVED_MAX); // each {id, url, title} as JSON
  mutes = {
    words: new KeptList('mute.words', MUTES_MAX),
    domains: new KeptList('mute.domains', MUTES_MAX),
    accounts: new KeptList('mute.accounts', MUTES_MAX),
  };
  hideRead = recall('hide-read', '') === 'yes' || isShownOnly('unread');
  onlyNew = isShownOnly('new');
  lastVisitMs = lastVisit(Date.now());

  constructor() {
    super();
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.noteVisit();
      else this.#comeBack();
    });
    addEventListener('pagehide', () => document.hidden || this.noteVisit());
    listenToTabs(() => {
      for (const list of [this.read, this.saved, ...Object.values(this.mutes)]) list.refresh();
      this.#changed();
    });
  }

  /** The reader is here: the visit lasts until now at least. */
  noteVisit() {
    keep('visit.last', String(Date.now()));
  }

  #comeBack() {
    this.lastVisitMs = lastVisit(Date.now());
    this.#changed();
  }

  setHideRead(hide) {
    this.hideRead = hide;
    keep('hide-read', hide ? 'yes' : '');
    this.#changed();
  }

  setOnlyNew(only) {
    this.onlyNew = only;
    this.#changed();
  }

  markRead(id) {
    this.read.add(id);
    this.#changed();
  }

  mute(kind, what) {
    this.mutes[kind].add(kind === 'words' ? what.toLowerCase() : what);
    this.#changed();
  }

  unmute(kind, what) {
    this.mutes[kind].remove(what);
    this.#changed();
  }

  isSaved(id) {
    return this.saved.items.some((entry) => JSON.parse(entry).id === id);
  }

  toggleSaved({ id, url, title }) {
    const known = this.saved.items.find((entry) => JSON.parse(entry).id === id);
    if (known) this.saved.remove(known);
    else this.saved.add(JSON.stringify({ id, url, title }));
    this.#changed();
  }

  isNew(link) {
    return this.lastVisitMs !== undefined && link.firstMs > this.lastVisitMs;
  }

  isMuted(link) {
    const words = `${link.title} ${link.about} ${link.url}`.toLowerCase();
    if (this.mutes.words.items.some((word) => words.includes(word))) return true;
    if (domainIsIn(link.domain, this.mutes.domains)) return true;
    // Who else shared it is not known when not all are named.
    return link.people.length >= link.count &&
      link.people.every((did) => this.mutes.accounts.has(did));
  }

  isHidden(link) {
    return this.isMuted(link) || (this.hideRead && this.read.has(link.id)) ||
      (this.onlyNew && this.lastVisitMs !== undefined && !this.isNew(link));
  }

  /** Puts into the address what of the view only the browser knows. */
  noteView() {
    noteShown([['unread', this.hideRead], ['new', this.onlyNew]]
      .filter(([, only]) => only).map(([words]) => words));
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}
