// SPDX-License-Identifier: Apache-2.0
//
// serve.mjs - the chat's page, and the daemon behind the same address.
//
//   tidemark run -c examples/chat/collections.yaml
//   node examples/chat/serve.mjs [PORT [DAEMON]]      3000, http://127.0.0.1:8080
//
// Files are served from two folders, by name only; everything under /api goes to the daemon, so the
// page needs no permission of another origin. For one machine: it listens on loopback.

import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

const TYPES = { css: 'text/css', html: 'text/html', js: 'text/javascript' };
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const FOLDERS = {
  '/': new URL('./', import.meta.url),
  '/client/': new URL('../../clients/js/', import.meta.url),
};

async function sendFile(path, answer) {
  const [, folder, name] = /^(\/|\/client\/)([\w-]+\.(?:css|html|js))$/.exec(path) ?? [];
  try {
    const bytes = await readFile(new URL(name, FOLDERS[folder]));
    answer.writeHead(200, {
      'content-type': `${TYPES[name.split('.').pop()]}; charset=utf-8`,
      'content-security-policy': POLICY,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    });
    answer.end(bytes);
  } catch {
    answer.writeHead(404).end('nothing is at this address\n');
  }
}

function pass(question, answer, { hostname, port }) {
  const { method, url: path, headers } = question;
  const there = request({ hostname, port, method, path, headers }, (reply) => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  there.on('error', () => answer.destroy());
  answer.on('close', () => there.destroy());
  question.pipe(there);
}

/** A websocket is passed on byte by byte. */
function tunnel(question, socket, head, { hostname, port }) {
  const there = connect(port, hostname);
  const lines = [`${question.method} ${question.url} HTTP/1.1`];
  for (let i = 0; i < question.rawHeaders.length; i += 2)
    lines.push(`${question.rawHeaders[i]}: ${question.rawHeaders[i + 1]}`);
  there.write(`${lines.join('\r\n')}\r\n\r\n`);
  there.write(head);
  socket.pipe(there).pipe(socket);
  for (const [end, other] of [[socket, there], [there, socket]])
    end.on('error', () => {}).on('close', () => other.destroy());
}

/** Resolves to a server that listens. */
export async function serveChat(port, daemon) {
  const to = new URL(daemon);
  const server = createServer((question, answer) => {
    const path = question.url.split('?')[0];
    if (path.startsWith('/api/')) pass(question, answer, to);
    else sendFile(path === '/' ? '/index.html' : path, answer);
  });
  server.on('upgrade', (question, socket, head) => tunnel(question, socket, head, to));
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [port = '3000', daemon = 'http://127.0.0.1:8080'] = process.argv.slice(2);
  const server = await serveChat(Number(port), daemon);
  console.log(`the chat is at http://127.0.0.1:${server.address().port}/`);
}
