// SPDX-License-Identifier: Apache-2.0
//
// daemon.mjs - a tidemark daemon of one's own, on SQLite, that can be stopped, killed and started
// again, behind a proxy that loses what it is told to lose.

import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FaultProxy } from './fault_proxy.mjs';

const WAIT_MS = 180000;
const program = process.env.TIDEMARK_PROGRAM;

/** Bounded polling of a condition; what it answered when it held. */
export async function until(condition, what) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export class Daemon {
  #process;
  #settings;

  /** `config` is YAML; `settings` are PATH=VALUE. */
  static async start({ config = '', settings = [] } = {}) {
    const daemon = new Daemon();
    daemon.folder = mkdtempSync(join(tmpdir(), 'tidemark-web-'));
    daemon.#settings = settings;
    writeFileSync(join(daemon.folder, 'tidemark.yaml'), config);
    daemon.proxy = await FaultProxy.start();
    await daemon.begin();
    return daemon;
  }

  /** The address of the proxy: it stays when the daemon goes and comes. */
  get url() {
    return this.proxy.url;
  }

  async begin() {
    const { folder } = this;
    const log = join(folder, 'log');
    const settings = [
      `store.url=sqlite:${folder}/tidemark.db`,
      `store.data_dir=${folder}`,
      'serve.listen=127.0.0.1:0',
      'serve.health_listen=',
      'bluesky.appview=http://127.0.0.1:9',
      'bluesky.mode=polling',
      'cards.enabled=false',
      'retention.enabled=false', // a test may fill in what is old
      'page.images_cdn=http://127.0.0.1:9', // nobody but us
      'log.format=json',
      `jetstream.cursor_file=${folder}/jetstream_cursor.txt`,
      ...this.#settings,
    ];
    writeFileSync(log, '');
    const out = openSync(log, 'a');
    this.#process = spawn(
      program,
      ['run', '-c', join(folder, 'tidemark.yaml'), ...settings.flatMap((s) => ['--set', s])],
      { stdio: ['ignore', out, out] },
    );
    closeSync(out);
    const port = await until(() => this.#portIn(log), 'the daemon to listen');
    this.proxy.target = port;
  }

  #portIn(log) {
    const words = readFileSync(log, 'utf8');
    if (this.#process.exitCode !== null) throw new Error(`the daemon ended:\n${words}`);
    const line = words.split('\n').find((l) => l.includes('"listening"'));
    return line && JSON.parse(line).metadata.port;
  }

  /** Waits until a question is not refused any more: declared collections are made after the start. */
  ready(question) {
    const made = (error) => {
      if (error.code === 'UNKNOWN_COLLECTION') return false;
      throw error;
    };
    return until(() => question().then(() => true, made), 'the collections to be made');
  }

  signal(name) {
    this.#process.kill(name);
  }

  async end(signal = 'SIGTERM') {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill(signal);
    const code = await ended;
    if (signal === 'SIGTERM' && code !== 0)
      throw new Error(`ended with ${code}:\n${readFileSync(join(this.folder, 'log'), 'utf8')}`);
  }

  /** SQL from outside; the daemon must not run. */
  sql(statements) {
    return execFileSync('sqlite3', ['-bail', '-json', join(this.folder, 'tidemark.db')], {
      input: statements,
      encoding: 'utf8',
    });
  }

  /** What a power cut may take; the daemon must not run. */
  loseHandles() {
    const files = readdirSync(this.folder).filter((name) => name.includes('.handles'));
    if (files.length === 0) throw new Error('no handles were kept');
    for (const name of files) rmSync(join(this.folder, name));
  }

  /** What a command says about this daemon, or about its store when it does not run. */
  command(...words) {
    return execFileSync(program, [
      ...words, '-c', join(this.folder, 'tidemark.yaml'),
      '--set', `store.url=sqlite:${this.folder}/tidemark.db`,
      '--set', `store.data_dir=${this.folder}`,
    ], { encoding: 'utf8' });
  }

  /** The open handles of a session, as an operator sees them. */
  handles(session) {
    const words = this.command('handles', '--json');
    // Of a session as much is shown as tells it from others, not what could be used.
    return JSON.parse(words).filter((handle) => session.startsWith(handle.session));
  }

  async [Symbol.asyncDispose ?? 'dispose']() {
    await this.remove();
  }

  async remove() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) await this.end();
    await this.proxy.stop();
    rmSync(this.folder, { recursive: true });
  }
}
