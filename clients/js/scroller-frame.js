// SPDX-License-Identifier: Apache-2.0
//
// scroller-frame.js - what <tide-scroller> looks like around its rows.

export const sheet = new CSSStyleSheet();
sheet.replaceSync(`
  :host { display: block; position: relative; min-height: 4rem; }
  [part=viewport] { height: 100%; max-height: inherit; overflow-y: auto; overflow-anchor: none;
    overscroll-behavior: contain; }
  [part=sentinel] { min-height: 1px; text-align: center; }
  [part=new] { position: absolute; left: 50%; transform: translateX(-50%); z-index: 1;
    padding: .3em .9em; border: 0; border-radius: 1em; font: inherit; cursor: pointer;
    background: CanvasText; color: Canvas; box-shadow: 0 1px 4px rgb(0 0 0 / .4); }
  :host(:not([flow=up])) [part=new] { top: .5rem; }
  :host([flow=up]) [part=new] { bottom: .5rem; }
  [part=trouble] { padding: .5rem; }
  [part=status] { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); white-space: nowrap; }
  [hidden] { display: none; }
`);

export function make(name, part, attributes = {}) {
  const element = document.createElement(name);
  element.setAttribute('part', part);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
