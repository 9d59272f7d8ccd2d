// SPDX-License-Identifier: Apache-2.0
// The types say what is there: every exported name, and every public member of a class, both ways.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

const CLIENT = new URL('../../clients/js/', import.meta.url);

// What the element needs of a browser to be declared.
globalThis.HTMLElement = class {};
globalThis.CSSStyleSheet = class {
  replaceSync() {}
};
globalThis.customElements = { define() {}, get() {} };

/** Names that exist at run time: of the module, and of each class. */
function declared(words) {
  const classes = new Map();
  for (const [, name, body] of words.matchAll(/^export class (\w+)[^{]*\{\n(.*?)^\}/gms)) {
    const members = [...body.matchAll(/^ {2}(?:readonly |set )?(\w+)[?<(:]/gm)];
    classes.set(name, new Set(members.map(([, member]) => member)));
  }
  const functions = [...words.matchAll(/^export function (\w+)/gm)].map(([, name]) => name);
  return { classes, names: [...classes.keys(), ...functions].sort() };
}

for (const name of ['tidemark', 'tanstack', 'tide-scroller'])
  test(`of ${name}`, async () => {
    const words = await readFile(new URL(`${name}.d.ts`, CLIENT), 'utf8');
    const module = await import(new URL(`${name}.js`, CLIENT));
    const { classes, names } = declared(words);
    assert.ok(names.length > 0);
    assert.deepEqual(Object.keys(module).sort(), names);
    for (const [kind, members] of classes) {
      const body = module[kind].toString();
      const there = Object.getOwnPropertyNames(module[kind].prototype);
      for (const member of members)
        assert.ok(there.includes(member) || new RegExp(`\\bthis\\.${member}\\b`).test(body),
          `${kind} has no ${member}`);
      const hooks = ['constructor', 'connectedCallback', 'disconnectedCallback',
        'attributeChangedCallback'];
      const silent = there.filter((member) => !members.has(member) && !hooks.includes(member));
      assert.deepEqual(silent, [], `${kind} has what its types do not tell`);
    }
  });
