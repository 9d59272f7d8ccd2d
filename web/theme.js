// SPDX-License-Identifier: Apache-2.0
//
// theme.js - the colours a reader chose before, in force before anything is drawn.

try {
  const theme = localStorage.getItem('tidemark.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is refused: the system's colours are as good.
}
