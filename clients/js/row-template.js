// SPDX-License-Identifier: Apache-2.0
//
// row-template.js - puts a row's values into a copy of a <template>.
//
//   data-field="text"     the value as text; in a <time> as the reader's own date and time
//   data-href="url"       the address of a link, http and https only
//   data-if="title"       hidden while the row has no such value
//   data-key="status"     kept as data-value, for style sheets
// A name with dots leads into objects and lists: "sharers.0.handle". What strangers wrote is only
// ever text: nothing here is parsed as HTML.

const SAFE = new Set(['http:', 'https:']);

export function valueOf(row, path) {
  return path.split('.').reduce((value, part) => value?.[part], row);
}

function wordsOf(value) {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function putField(element, value) {
  const words = wordsOf(value);
  const at = element.localName === 'time' && words !== '' ? new Date(words) : undefined;
  if (at && !Number.isNaN(at.valueOf())) {
    element.dateTime = words;
    element.title = at.toLocaleString();
    element.textContent = shortTime(at);
  } else if (element.textContent !== words) {
    element.textContent = words;
  }
}

function shortTime(at) {
  const today = at.toDateString() === new Date().toDateString();
  return today
    ? at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
    : at.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

function putLink(element, value) {
  let url;
  try {
    url = new URL(wordsOf(value));
  } catch {
    url = undefined;
  }
  if (url && SAFE.has(url.protocol)) element.href = url.href;
  else element.removeAttribute('href');
}

const binders = {
  field: putField,
  href: putLink,
  if: (element, value) => {
    element.hidden = wordsOf(value) === '' || value === false;
  },
  key: (element, value) => {
    element.dataset.value = wordsOf(value);
  },
};

/** Puts the row's values into the element and whatever is in it. */
export function fillRow(element, row) {
  for (const [name, bind] of Object.entries(binders)) {
    const attribute = `data-${name}`;
    for (const target of [element, ...element.querySelectorAll(`[${attribute}]`)])
      if (target.hasAttribute(attribute))
        bind(target, valueOf(row, target.getAttribute(attribute)));
  }
}

/** A new element for a row, from the first element of the template. */
export function newRow(template) {
  const first = template.content.firstElementChild;
  if (first === null) throw new TypeError('the row template of <tide-scroller> has no element');
  return first.cloneNode(true);
}
