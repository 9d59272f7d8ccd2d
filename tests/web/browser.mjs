// SPDX-License-Identifier: Apache-2.0
//
// browser.mjs - a headless Chromium, driven by Playwright, with bounded waits and a list of what its
// pages complain about.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from './daemon.mjs';
import { load, packages } from './packages.mjs';

const { chromium } = load('playwright-core');

/** Where pictures of the pages are kept, for people to look at. */
export const shots = join(packages, '../screenshots');

const WAIT_MS = 180000;
const SWITCHES = [
  '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--window-size=800,600',
];

export class Browser {
  #browser;
  #context;

  static async start() {
    const browser = new Browser();
    browser.#browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: SWITCHES,
      chromiumSandbox: false,
      timeout: WAIT_MS,
    });
    // Pages share what they remember, and are as large as the window unless a test says otherwise.
    browser.#context = await browser.#browser.newContext({ viewport: null, colorScheme: null });
    browser.#context.setDefaultTimeout(WAIT_MS);
    return browser;
  }

  newPage() {
    return Page.open(this.#context);
  }

  stop() {
    return this.#browser.close();
  }
}

export class Page {
  /** What the page complained about: exceptions, console errors, broken policy. */
  complaints = [];
  /** The addresses it asked for. */
  asked = [];
  /** Playwright's own page: what a hand or an eye can do. */
  hands;
  #session; // for what it has no words for

  static async open(context) {
    const page = new Page();
    page.hands = await context.newPage();
    page.#session = await context.newCDPSession(page.hands);
    page.#listen();
    for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'Accessibility'])
      await page.send(`${domain}.enable`);
    return page;
  }

  send(method, params) {
    return this.#session.send(method, params);
  }

  /** Opens an address; what is there may be a refusal, but not that the daemon cannot answer. */
  async open(url) {
    const answer = await this.hands.goto(url, { waitUntil: 'load' });
    if (answer?.status() >= 500) throw new Error(`${url}: ${answer.status()} ${await answer.text()}`);
    // Our own session may still see the page before it, for a moment.
    const here = 'document.readyState === "complete" && location.href';
    await until(() => this.eval(here).then((href) => href === this.hands.url(), () => false), url);
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

  /** Presses what is seen there with a mouse, once it can be pressed. */
  click(selector) {
    return this.hands.click(selector);
  }

  /** A key by its name, with others held: 'Control+End'. */
  press(key) {
    return this.hands.keyboard.press(key);
  }

  /** As if a reader of the news had left so long ago, and opened the next page now. */
  leftAgo(minutes) {
    return this.hands.addInitScript(`if (!sessionStorage.getItem('left')) {
      sessionStorage.setItem('left', 'once');
      localStorage.setItem('tidemark.visit.last', String(Date.now() - ${minutes * 60000})); }`);
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
  colours(colorScheme) {
    return this.hands.emulateMedia({ colorScheme });
  }

  scripts(enabled) {
    return this.send('Emulation.setScriptExecutionDisabled', { value: !enabled });
  }

  async screenshot(path, options = {}) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', ...options });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.from(data, 'base64'));
  }

  /** Keeps a picture of all of the page. */
  async keep(name) {
    const { cssContentSize } = await this.send('Page.getLayoutMetrics');
    await this.screenshot(join(shots, `${name}.png`), {
      captureBeyondViewport: true, clip: { ...cssContentSize, scale: 1 },
    });
  }

  close() {
    return this.hands.close();
  }

  #listen() {
    this.#session.on('Runtime.exceptionThrown', ({ exceptionDetails }) =>
      this.complaints.push(exceptionDetails.exception?.description ?? 'an exception'));
    this.#session.on('Log.entryAdded', ({ entry }) =>
      entry.source === 'security' && this.complaints.push(entry.text));
    this.#session.on('Runtime.consoleAPICalled', ({ type, args }) => type === 'error' &&
      this.complaints.push(args.map((arg) => arg.value ?? arg.description).join(' ')));
    this.#session.on('Network.requestWillBeSent', ({ request }) => this.asked.push(request.url));
  }
}
