// SPDX-License-Identifier: Apache-2.0
//
// theme-choice.js - a button that goes through the colours: the system's, light, dark.

import { keep, recall } from './memory.js';

const WORDS = { system: 'Auto', light: 'Light', dark: 'Dark' };
const NEXT = { system: 'light', light: 'dark', dark: 'system' };

function apply(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function addThemeChoice(place) {
  const button = document.createElement('button');
  let theme = recall('theme', 'system');
  if (!(theme in WORDS)) theme = 'system';
  const show = () => {
    button.textContent = WORDS[theme];
    button.setAttribute('aria-label', `Colours: ${WORDS[theme]}`);
    apply(theme);
  };
  button.type = 'button';
  button.className = 'theme';
  button.addEventListener('click', () => {
    theme = NEXT[theme];
    keep('theme', theme);
    show();
  });
  show();
  place.append(button);
}
