// SPDX-License-Identifier: Apache-2.0
//
// view.js - the part of a view that only the browser knows, in the address like all the others.
//
// Whoever goes from here to another window, order or site takes it along.

const PART = 'show=';

function partsOf(address) {
  return /^[^?#]*\?([^#]*)/.exec(address)?.[1].split('&').filter((part) => part) ?? [];
}

/** The same address with this part and no other of its kind. */
function withShown(address, words) {
  const [, path, hash] = /^([^?#]*)[^#]*(.*)$/.exec(address);
  const parts = partsOf(address).filter((part) => !part.startsWith(PART));
  if (words) parts.push(PART + words);
  return path + (parts.length > 0 ? `?${parts.join('&')}` : '') + hash;
}

function wordsIn(address) {
  return partsOf(address).find((part) => part.startsWith(PART))?.slice(PART.length) ?? '';
}

/** Whether the address says that only 'unread' or 'new' links are shown. */
export function isShownOnly(words) {
  return wordsIn(location.href).split('-').includes(words);
}

function noteInForm(form, words) {
  let field = form.querySelector('[name=show]');
  if (!words) field?.remove();
  else if (!field) {
    field = document.createElement('input');
    field.type = 'hidden';
    field.name = 'show';
    form.append(field);
  }
  if (words) field.value = words;
}

/** Has the address, and those of other views on the page, say what is shown only. */
export function noteShown(parts) {
  const words = parts.join('-');
  if (wordsIn(location.href) !== words)
    history.replaceState(null, '', withShown(location.href, words));
  for (const link of document.querySelectorAll('main a[href="/"], main a[href^="/?"]'))
    if (wordsIn(link.href) !== words) link.href = withShown(link.getAttribute('href'), words);
  noteInForm(document.querySelector('form.ask'), words);
}
