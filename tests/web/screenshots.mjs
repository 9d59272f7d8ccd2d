// SPDX-License-Identifier: Apache-2.0
//
// screenshots.mjs - the pictures of the README: the page, the operator's page, a terminal.
//
//   node screenshots.mjs FOLDER
//
// The news is invented, the network simulated; the programs are the real ones.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Browser } from './browser.mjs';
import { Daemon, until } from './daemon.mjs';
import { articlesSql, fill, gapSql, linkSql, peopleSql } from './news_world.mjs';
import { Simulator } from './simulator.mjs';

const [folder] = process.argv.slice(2);
const nowUs = Date.now() * 1000;
const SCALE = 1.5;
const SAMPLES = 12; // of the line of rates, before it is worth a picture

const ANSI = /\u001b\[(\d+)m/g;
const COLOURS = { 0: '', 1: 'bold', 2: 'dim', 32: 'green', 33: 'yellow', 31: 'red' };

/** What a terminal would show, as HTML. */
function terminalPage(lines) {
  const escaped = lines.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const painted = escaped.replace(ANSI, (_, code) =>
    (code === '0' ? '</span>' : `<span class="${COLOURS[code] ?? ''}">`));
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; background: #12181b; color: #dfe6e8; padding: 22px 26px;
      font: 13px/1.5 "DejaVu Sans Mono", monospace; }
    pre { margin: 0; } .bold { font-weight: bold; } .dim { color: #9fb0b7; }
    .green { color: #86cfa6; } .yellow { color: #f0bd6a; } .red { color: #f29a93; }
    .prompt { color: #7fc8de; }</style><pre>${painted}</pre>`;
}

/** A command as somebody at a terminal sees it: colours and all. */
function atTerminal(daemon, ...words) {
  const command = [process.env.TIDEMARK_PROGRAM, ...words, '-c', join(daemon.folder, 'tidemark.yaml'),
    '--set', `store.url=sqlite:${daemon.folder}/tidemark.db`,
    '--set', `store.data_dir=${daemon.folder}`];
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const out = execFileSync('script', ['-qec', `stty cols 160; ${quoted}`, '/dev/null'], { encoding: 'utf8' });
  return `\u001b[2m$\u001b[0m tidemark ${words.join(' ')}\n${out.replaceAll('\r', '')}\n`;
}

async function shootTerminal(page, daemon) {
  const lines = atTerminal(daemon, 'status') + atTerminal(daemon, 'gaps') +
    atTerminal(daemon, 'digest', '--hours', '24', '--limit', '4');
  daemon.proxy.serve('/terminal', 'text/html', terminalPage(lines));
  await page.viewport(1180, 640, { scale: SCALE });
  await page.open(new URL('/terminal', daemon.url).href);
  await page.screenshot(join(folder, 'terminal.png'));
}

/** The page with one link open, once all its pictures are there. */
function openWhole(page, daemon) {
  return until(async () => {
    await page.open(daemon.url);
    await page.until('document.querySelector(".tools") !== null');
    await page.eval('document.querySelectorAll(".more")[1].open = true');
    await page.until('[...document.images].every((image) => image.complete)');
    return page.eval('[...document.images].every((image) => image.naturalWidth > 0)');
  }, 'the pictures to be fetched');
}

async function shootNews(page) {
  const simulator = await Simulator.start('--events', '5');
  const daemon = await Daemon.start({ settings: ['fetch.allow_private=true'] });
  const at = `http://${simulator.address}/picture/good/`;
  await fill(daemon, peopleSql() + articlesSql(nowUs) + linkSql(70, {
    title: 'Night trains are back — and this time they break even | Rail Weekly', about: null,
    domain: 'railweekly.example', people: 4, ageMinutes: 150,
  }, nowUs) + gapSql(nowUs) +
    `UPDATE links SET image_url = '${at}' || id WHERE id % 3 <> 0;
     UPDATE actors SET avatar = '${at}' || id WHERE id % 3 <> 0;`);
  await page.viewport(1000, 1080, { scale: SCALE });
  await openWhole(page, daemon);
  await page.screenshot(join(folder, 'page.png'));
  await shootTerminal(page, daemon);
  await daemon.remove();
  await simulator.stop();
}

async function shootStatus(page) {
  const simulator = await Simulator.start('--rate', '60', '--start-us', 'now');
  const daemon = await Daemon.start({ settings: simulator.settings });
  await fill(daemon, gapSql(nowUs));
  await page.viewport(1100, 900, { scale: SCALE });
  await page.open(new URL('/status', daemon.url).href);
  await page.until(`(document.querySelector('.spark polyline')?.points.length ?? 0) >= ${SAMPLES}`);
  await page.screenshot(join(folder, 'status.png'));
  await daemon.remove();
  await simulator.stop();
}

const browser = await Browser.start();
const page = await browser.newPage();
await page.colours('light');
await page.send('Emulation.setScrollbarsHidden', { hidden: true });
await shootNews(page);
await shootStatus(page);
await browser.stop();
