// SPDX-License-Identifier: Apache-2.0
//
// status.js - the operator's page, made anew every few seconds by who makes it.

import { keepTimes, renewTimes } from './ages.js';
import { make } from './elements.js';
import { fetchPage } from './page-fetch.js';
import { addThemeChoice } from './theme-choice.js';

const RENEW_MS = 3000;

const away = make('p', { className: 'offline', role: 'status', hidden: true });

const partsIn = (root) => new Map(
  [...root.querySelectorAll('main > .standing, main > .reasons, main > section')]
    .map((part) => [part.id || part.classList[0], part]));

/** Takes over what is different, part by part: who reads one part is not disturbed by another. Parts
 * come and go: what there is nothing to say about has none. */
function takeOver(fresh) {
  const mine = partsIn(document);
  let last = away;
  for (const [name, theirs] of partsIn(fresh)) {
    const part = mine.get(name) ?? document.importNode(theirs, true);
    if (!mine.delete(name)) last.after(part);
    else if (!part.contains(document.activeElement)) { // else somebody is about to press
      part.className = theirs.className;
      part.replaceChildren(...document.importNode(theirs, true).childNodes);
    }
    last = part;
  }
  for (const part of mine.values()) part.remove();
  renewTimes();
}

async function renew() {
  if (document.hidden) return;
  try {
    takeOver(await fetchPage(location.href));
    away.hidden = true;
  } catch {
    away.textContent = 'The daemon does not answer; trying again.';
    away.hidden = false;
  }
}

async function keepRenewing() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, RENEW_MS));
    await renew();
  }
}

document.querySelector('.headline').after(away);
addThemeChoice(document.querySelector('.places'));
keepTimes();
keepRenewing();
