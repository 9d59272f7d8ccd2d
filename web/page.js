// SPDX-License-Identifier: Apache-2.0
//
// page.js - what scripts add to the page at /: it lives, and it knows its reader.

import { keepTimes, renewTimes } from './ages.js';
import { listenToKeys } from './keys.js';
import { equip, show } from './link-tools.js';
import { Live } from './live.js';
import { Reader, linkOf } from './reader.js';
import { addThemeChoice } from './theme-choice.js';
import { Tools } from './tools.js';

const reader = new Reader();
const tools = new Tools(reader, document.querySelector('.controls'));

function renew() {
  let hidden = 0;
  for (const article of document.querySelectorAll('.link')) {
    equip(article, reader);
    if (!show(article, reader)) hidden++;
  }
  tools.renew(hidden);
  live.count();
  reader.noteView();
  renewTimes();
}

const live = new Live({
  changed: renew,
  isHidden: (article) => reader.isHidden(linkOf(article)),
  shown: () => reader.noteVisit(),
});
reader.addEventListener('change', renew);
addThemeChoice(document.querySelector('.places'));
listenToKeys({
  showNew: () => live.showNew(),
  showKeys: () => tools.showKeys(),
  toggleHideRead: () => tools.toggleHideRead(),
});
keepTimes();
renew();
live.start();
