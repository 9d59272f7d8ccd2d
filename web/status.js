// SPDX-License-Identifier: Apache-2.0
//
// status.js - the operator's page, made anew every few seconds by who makes it.

import { keepTimes, renewTimes } from './ages.js';
import { make } from './elements.js';
import { fetchPage } from './page-fetch.js';
import { addThemeChoice } from './theme-choice.js';

const RENEW_MS = 3000;

const away = make('p', { className: 'offline', role: 'status', hidden: true });

/** Takes over what is different, part by part: who reads one part is not disturbed by another. */
function takeOver(fresh) {
  for (const part of document.querySelectorAll('main > .standing, main > .reasons, main > section')) {
    const selector = part.id ? `#${part.id}` : `main > .${part.classList[0]}`;
    const theirs = fresh.querySelector(selector);
    if (!theirs || part.contains(document.activeElement)) continue; // somebody is about to press
    part.className = theirs.className;
    part.replaceChildren(...document.importNode(theirs, true).childNodes);
  }
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
