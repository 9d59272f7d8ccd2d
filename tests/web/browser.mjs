// SPDX-License-Identifier: Apache-2.0
//
// browser.mjs - a headless Chromium, told what to do through a pipe.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './daemon.mjs';

const SWITCHES = [
  '--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--no-first-run',
  '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--disable-extensions', '--mute-audio', '--window-size=800,600',
];

export class Browser {
  #process;
  #waiting = new Map();
  #listeners = [];
  #last = 0;
  #rest = '';

  static async start() {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), 'tidemark-browser-'));
    browser.#process = spawn(
      process.env.CHROMIUM ?? 'chromium',
      [...SWITCHES, `--user-data-dir=${browser.folder}`, 'about:blank'],
      {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
        env: { ...process.env, TMPDIR: browser.folder },
      },
    );
    const [, , , , answers] = browser.#process.stdio;
    answers.setEncoding('utf8').on('data', (text) => browser.#take(text));
    browser.#process.on('error', (error) => browser.#giveUp(error));
    browser.#process.on('exit', () => browser.#giveUp(new Error('the browser ended')));
    await browser.send('Target.setDiscoverTargets', { discover: true });
    return browser;
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#last;
    const question = JSON.stringify({ id, method, params, sessionId });
    this.#process.stdio[3].write(`${question}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { method, resolve, reject }));
  }

  listen(listener) {
    this.#listeners.push(listener);
  }

  async newPage() {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    return Page.attach(this, sessionId, targetId);
  }

  async stop() {
    const ended = new Promise((resolve) => this.#process.once('close', resolve));
    await this.send('Browser.close');
    await ended;
    // What the browser started itself may write its last words a little later.
    await until(() => this.#removeFolder(), 'the browser to leave its folder');
  }

  #removeFolder() {
    try {
      rmSync(this.folder, { recursive: true, force: true });
      return true;
    } catch (error) {
      if (error.code === 'ENOTEMPTY') return false;
      throw error;
    }
  }

  #take(text) {
    const parts = (this.#rest + text).split('\0');
    this.#rest = parts.pop();
    for (const part of parts) this.#hear(JSON.parse(part));
  }

  #hear(message) {
    const question = this.#waiting.get(message.id);
    if (question === undefined) {
      for (const listener of this.#listeners) listener(message);
      return;
    }
    this.#waiting.delete(message.id);
    if (message.error) question.reject(new Error(`${question.method}: ${message.error.message}`));
    else question.resolve(message.result);
  }

  #giveUp(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

export class Page {
  /** What the page complained about: exceptions, console errors, broken policy. */
  complaints = [];
  #browser;
  #session;
  #target;

  static async attach(browser, session, target) {
    const page = new Page();
    page.#browser = browser;
    page.#session = session;
    page.#target = target;
    browser.listen((message) => message.sessionId === session && page.#hear(message));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'Accessibility'])
      await page.send(`${domain}.enable`);
    return page;
  }

  send(method, params) {
    return this.#browser.send(method, params, this.#session);
  }

  async open(url) {
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await this.until('document.readyState === "complete"');
  }

  /** The value of an expression, which may be a promise. */
  async eval(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true; its value. */
  until(expression) {
    return until(() => this.eval(expression).catch(() => undefined), expression);
  }

  async press(key, modifiers = 0) {
    for (const type of ['rawKeyDown', 'keyUp'])
      await this.send('Input.dispatchKeyEvent', { type, key, code: key, modifiers });
  }

  async wheel(deltaY) {
    await this.send('Input.dispatchMouseEvent', {
      type: 'mouseWheel', x: 200, y: 200, deltaX: 0, deltaY,
    });
  }

  offline(offline) {
    return this.send('Network.emulateNetworkConditions', {
      offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1,
    });
  }

  viewport(width, height, { phone = false, scale = 1 } = {}) {
    return this.send('Emulation.setDeviceMetricsOverride', {
      width, height, deviceScaleFactor: scale, mobile: phone,
    });
  }

  /** 'light' or 'dark': what the system of the reader says. */
  colours(value) {
    return this.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value }],
    });
  }

  scripts(enabled) {
    return this.send('Emulation.setScriptExecutionDisabled', { value: !enabled });
  }

  async screenshot(path, options = {}) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', ...options });
    writeFileSync(path, Buffer.from(data, 'base64'));
  }

  close() {
    return this.#browser.send('Target.closeTarget', { targetId: this.#target });
  }

  #hear({ method, params }) {
    if (method === 'Runtime.exceptionThrown')
      this.complaints.push(params.exceptionDetails.exception?.description ?? 'an exception');
    else if (method === 'Log.entryAdded' && params.entry.source === 'security')
      this.complaints.push(params.entry.text);
    else if (method === 'Runtime.consoleAPICalled' && params.type === 'error')
      this.complaints.push(params.args.map((arg) => arg.value ?? arg.description).join(' '));
  }
}
