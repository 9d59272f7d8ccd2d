// SPDX-License-Identifier: Apache-2.0
//
// packages.mjs - the packages of others that these tests need, got once.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Their folder. */
export const packages = execFileSync(
  fileURLToPath(new URL('../../tools/web-packages', import.meta.url)), { encoding: 'utf8' }).trim();

/** One of them, by its name. */
export const load = createRequire(join(packages, 'package.json'));
