// SPDX-License-Identifier: Apache-2.0
//
// tools.js - the row of tools above the list, and the dialogs behind it.

import { ageOf } from './ages.js';
import { make, makeButton, makeDialog, makeToggle } from './elements.js';
import { linkOf } from './reader.js';

const MUTE_KINDS = { words: 'Words', domains: 'Sites', accounts: 'People' };

const KEYS = [
  ['j', 'next link'], ['k', 'link before'], ['o', 'open it'], ['s', 'save it'],
  ['x', 'what they said'], ['n', 'show new links'], ['r', 'hide what was read'],
  ['/', 'search'], ['?', 'these keys'],
];

function savedList(reader, refill) {
  const entries = reader.saved.items.map((text) => JSON.parse(text)).reverse();
  if (entries.length === 0) return [make('p', { textContent: 'Nothing is saved yet.' })];
  return [make('ul', {}, ...entries.map((entry) => {
    const link = make('a', { textContent: entry.title, rel: 'noopener noreferrer' });
    if (/^https?:/.test(entry.url)) link.href = entry.url;
    const remove = makeButton('Remove', () => {
      reader.toggleSaved(entry);
      refill();
    });
    return make('li', {}, link, ' ', remove);
  }))];
}

function muteForm(reader, refill) {
  const input = make('input', { type: 'text', name: 'word', required: true, maxLength: 80,
    placeholder: 'A word', 'aria-label': 'A word to mute' });
  const form = make('form', { className: 'mute-word' }, input,
    make('button', { type: 'submit', textContent: 'Mute this word' }));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (input.value.trim()) reader.mute('words', input.value.trim());
    refill();
  });
  return form;
}

function muteLists(reader, refill) {
  const lists = Object.entries(MUTE_KINDS).flatMap(([kind, title]) => {
    const { items } = reader.mutes[kind];
    if (items.length === 0) return [];
    return [make('h3', { textContent: title }), make('ul', {}, ...items.map((item) =>
      make('li', {}, make('bdi', { textContent: item }), ' ', makeButton('Unmute', () => {
        reader.unmute(kind, item);
        refill();
      }))))];
  });
  return [muteForm(reader, refill), ...lists];
}

function keyList() {
  return [make('dl', { className: 'keys' }, ...KEYS.flatMap(([key, words]) =>
    [make('dt', {}, make('kbd', { textContent: key })), make('dd', { textContent: words })]))];
}

function countNew(reader) {
  return [...document.querySelectorAll('.link')]
    .filter((article) => reader.isNew(linkOf(article))).length;
}

export class Tools {
  #reader;
  #hide;
  #onlyNew;
  #hidden = make('span', { className: 'hidden-count', role: 'status' });

  constructor(reader, place) {
    this.#reader = reader;
    this.showKeys = makeDialog('Keys', keyList);
    const showSaved = makeDialog('Saved', (refill) => savedList(reader, refill ?? showSaved));
    const showMutes = makeDialog('Muted', (refill) => muteLists(reader, refill ?? showMutes));
    this.#hide = makeToggle('Hide read', reader.hideRead, (hide) => reader.setHideRead(hide));
    this.#onlyNew = makeToggle('', reader.onlyNew, (only) => reader.setOnlyNew(only));
    place.after(make('div', { className: 'tools', role: 'group', 'aria-label': 'For you' },
      this.#hide, this.#onlyNew, makeButton('Saved', showSaved), makeButton('Muted', showMutes),
      makeButton('Keys', this.showKeys, { className: 'keys-button' }), this.#hidden));
  }

  toggleHideRead() {
    this.#hide.click();
  }

  /** After the list has changed. */
  renew(hiddenCount) {
    const { lastVisitMs } = this.#reader;
    this.#onlyNew.hidden = lastVisitMs === undefined;
    if (lastVisitMs !== undefined)
      this.#onlyNew.textContent =
        `${countNew(this.#reader)} since your last visit, ${ageOf(Date.now() - lastVisitMs)}`;
    this.#hidden.textContent = hiddenCount > 0 ? `${hiddenCount} not shown` : '';
  }
}
