// SPDX-License-Identifier: Apache-2.0
//
// keys.js - the list by keyboard.

function shownLinks() {
  return [...document.querySelectorAll('.links > li:not([hidden]) .link')];
}

function currentLink() {
  return document.activeElement?.closest('.link');
}

function step(by) {
  const links = shownLinks();
  const at = links.indexOf(currentLink());
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by];
  next?.querySelector('.title').focus();
  next?.scrollIntoView({ block: 'nearest' });
}

function isTyping(event) {
  return event.ctrlKey || event.metaKey || event.altKey ||
    event.target.closest('input, select, textarea, dialog') !== null;
}

/** `deeds` are what the page can do: showNew, showKeys, toggleHideRead. */
export function listenToKeys({ showNew, showKeys, toggleHideRead }) {
  const deeds = {
    j: () => step(1),
    k: () => step(-1),
    o: () => currentLink()?.querySelector('.title').click(),
    s: () => currentLink()?.querySelector('.save').click(),
    x: () => currentLink()?.querySelector('.more summary').click(),
    n: showNew,
    r: toggleHideRead,
    '/': () => document.querySelector('[name=q]').focus(),
    '?': showKeys,
  };
  document.addEventListener('keydown', (event) => {
    if (isTyping(event) || !Object.hasOwn(deeds, event.key)) return;
    event.preventDefault();
    deeds[event.key]();
  });
}
