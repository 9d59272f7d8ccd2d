// SPDX-License-Identifier: Apache-2.0
//
// The program that docs/API.md prints, run as it stands there. R004-60

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { MESSAGES, ROOM, newestFirst, startChat } from './chat.mjs';

const PAGE = new URL('../../docs/API.md', import.meta.url);

/** The code block that begins with this comment. */
function printed(name) {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)];
  const found = blocks.map((block) => block[1]).filter((code) => code.startsWith(`// ${name} - `));
  assert.equal(found.length, 1, `docs/API.md has ${found.length} programs ${name}`);
  return found[0];
}

describe('docs/API.md', () => {
  let daemon;
  let folder;

  before(async () => {
    daemon = await startChat();
    folder = mkdtempSync(join(tmpdir(), 'tidemark-example-'));
  });
  after(() => {
    rmSync(folder, { recursive: true });
    return daemon.remove();
  });

  test('R004-60: the walk from open to close gives every message once, in order', async () => {
    const program = join(folder, 'walk.mjs');
    writeFileSync(program, printed('walk.mjs'));
    const { stdout } = await promisify(execFile)(process.execPath, [program, daemon.url, ROOM]);
    const [count, ...lines] = stdout.trimEnd().split('\n');
    assert.equal(count, `${MESSAGES} messages`);
    assert.deepEqual(lines.map((line) => line.split(' ')[0]), newestFirst);
  });
});
