// SPDX-License-Identifier: Apache-2.0
//
// page.js - what scripts add to the page at /.

import { addThemeChoice } from './theme-choice.js';

addThemeChoice(document.querySelector('.places'));
