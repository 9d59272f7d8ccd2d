// SPDX-License-Identifier: Apache-2.0
//
// link-tools.js - what a reader can do with one link, and how its state is shown.

import { make, makeButton } from './elements.js';
import { linkOf } from './reader.js';

function muteChoices(reader, article) {
  const link = linkOf(article);
  const choices = [];
  if (link.domain)
    choices.push(makeButton(`Mute ${link.domain}`, () => reader.mute('domains', link.domain)));
  for (const person of article.querySelectorAll('.names .person'))
    choices.push(makeButton(`Mute ${person.textContent}`,
      () => reader.mute('accounts', person.dataset.did)));
  return choices;
}

/** Gives a link its buttons, once. */
export function equip(article, reader) {
  if (article.querySelector('.deeds')) return;
  const choices = make('div', { className: 'mute-choices' });
  const menu = make('details', { className: 'mute' },
    make('summary', { textContent: 'Mute' }), choices);
  const save = makeButton('Save', () => reader.toggleSaved(linkOf(article)), { className: 'save' });
  menu.addEventListener('toggle', () => {
    if (menu.open) choices.replaceChildren(...muteChoices(reader, article));
  });
  article.querySelector('.body').append(make('div', { className: 'deeds' }, save, menu));
  const title = article.querySelector('.title');
  for (const event of ['click', 'auxclick'])
    title.addEventListener(event, () => reader.markRead(article.dataset.id));
}

/** Shows what the reader has made of a link; whether it is to be seen. */
export function show(article, reader) {
  const link = linkOf(article);
  const hidden = reader.isHidden(link);
  const saved = reader.isSaved(link.id);
  const save = article.querySelector('.save');
  article.closest('li').hidden = hidden;
  article.classList.toggle('read', reader.read.has(link.id));
  article.classList.toggle('fresh', reader.isNew(link));
  save.textContent = saved ? 'Saved' : 'Save';
  save.setAttribute('aria-pressed', saved);
  for (const post of article.querySelectorAll('.post'))
    post.hidden = reader.mutes.accounts.has(post.querySelector('.person').dataset.did);
  return !hidden;
}
