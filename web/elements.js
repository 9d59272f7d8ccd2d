// SPDX-License-Identifier: Apache-2.0
//
// elements.js - elements made by name; what stands in them is text.

/** `properties` are set on the element, those with a dash or `role` as attributes. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'role') element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

export function makeButton(words, onClick, properties = {}) {
  const button = make('button', { type: 'button', textContent: words, ...properties });
  button.addEventListener('click', onClick);
  return button;
}

/** A button that is pressed or not. */
export function makeToggle(words, pressed, onChange) {
  const button = makeButton(words, () => {
    const now = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', now);
    onChange(now);
  }, { 'aria-pressed': pressed });
  return button;
}

/** A dialog that is filled anew whenever it is opened. */
export function makeDialog(title, fill) {
  const body = make('div', { className: 'dialog-body' });
  const dialog = make('dialog', { 'aria-label': title },
    make('h2', { textContent: title }), body,
    makeButton('Close', () => dialog.close(), { className: 'close' }));
  const show = () => {
    body.replaceChildren(...fill(() => body.replaceChildren(...fill())));
    if (!dialog.open) dialog.showModal();
  };
  document.body.append(dialog);
  return show;
}
