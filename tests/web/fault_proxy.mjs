// SPDX-License-Identifier: Apache-2.0
//
// fault_proxy.mjs - stands between a client and the daemon, and does what networks do.
//
// Plain HTTP exchanges are forwarded whole; before one is forwarded, or before its answer is given
// back, a fault may strike. Websockets are tunnels that can be cut. Every fault counts, so that a
// test can tell that it struck.

import { createServer, request } from 'node:http';
import { connect } from 'node:net';

const TRIES_MAX = 100;
const PAUSE_MS = 50;

async function bodyOf(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

export class FaultProxy {
  target = 0; // the daemon's port
  seen = []; // {path, params} of every POST
  addresses = []; // that were asked for, whole
  struck = 0;
  letsTunnelsThrough = true;
  tunnelsRefused = 0;
  #server;
  #fault = () => undefined;
  #tunnels = new Set();
  #routes = new Map();

  static async start() {
    const proxy = new FaultProxy();
    proxy.#server = createServer((from, to) => proxy.#exchange(from, to));
    proxy.#server.on('upgrade', (from, socket, head) => proxy.#tunnel(from, socket, head));
    await new Promise((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    proxy.url = `http://127.0.0.1:${proxy.#server.address().port}/`;
    return proxy;
  }

  /** `choose(path, params)` says what happens to an exchange: 'request' loses it on the way there,
   *  'reply' on the way back, 'cut' breaks the answer off in its middle, 'busy' says in the daemon's
   *  place that the handle is in use; anything else: nothing. */
  strike(choose) {
    this.#fault = choose;
  }

  calm() {
    this.#fault = () => undefined;
  }

  /** Cuts every websocket. */
  cut() {
    for (const socket of this.#tunnels) socket.destroy();
  }

  get tunnels() {
    return this.#tunnels.size;
  }

  /** Answers GET `path` itself. */
  serve(path, type, body, headers = {}) {
    this.#routes.set(path, { body, headers: { 'content-type': type, ...headers } });
  }

  async stop() {
    this.cut();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #exchange(from, to) {
    const path = from.url.split('?')[0];
    this.addresses.push(from.url);
    const own = this.#routes.get(path);
    if (own) {
      to.writeHead(200, own.headers).end(own.body);
      return;
    }
    const body = await bodyOf(from);
    const params = from.method === 'POST' ? JSON.parse(body.toString() || '{}') : {};
    if (from.method === 'POST') this.seen.push({ path, params });
    const fault = this.#fault(path, params);
    if (fault !== undefined) this.struck++;
    if (fault === 'request') {
      from.socket.destroy();
      return;
    }
    if (fault === 'busy') {
      to.writeHead(409).end('{"success":false,"code":"CONFLICT","error":"it is in use"}');
      return;
    }
    try {
      const { answer, bytes } = await this.#askUntilSettled(from, body);
      if (bytes === undefined) {
        this.#stream(answer, to);
        return;
      }
      if (fault === 'reply') from.socket.destroy();
      else if (fault === 'cut') this.#breakOff(to, answer, bytes);
      else to.writeHead(answer.statusCode, answer.headers).end(bytes);
    } catch {
      from.socket.destroy(); // nobody is there
    }
  }

  /** An answer and its bytes, or a stream. Whoever is told to come again soon comes again: on a busy
   *  machine the daemon may take longer than it allows itself. */
  async #askUntilSettled(from, body) {
    for (let tries = 1; ; tries++) {
      const answer = await this.#ask(from, body);
      if (answer.headers['content-type'] === 'text/event-stream') return { answer };
      const bytes = await bodyOf(answer);
      if (answer.statusCode !== 503 || from.url === '/health' || tries === TRIES_MAX)
        return { answer, bytes };
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  #ask(from, body) {
    return new Promise((resolve, reject) => {
      const { connection, ...headers } = from.headers;
      const { method, url: path } = from;
      const there = { host: '127.0.0.1', port: this.target, method, path, headers, agent: false };
      request(there, resolve).on('error', reject).end(body);
    });
  }

  /** What has no end is passed on as it comes. */
  #stream(answer, to) {
    to.writeHead(answer.statusCode, answer.headers);
    answer.pipe(to);
    answer.on('error', () => to.destroy());
    to.on('close', () => answer.destroy());
  }

  #breakOff(to, answer, bytes) {
    to.writeHead(answer.statusCode, answer.headers);
    to.write(bytes.subarray(0, bytes.length >> 1), () => to.destroy());
  }

  #tunnel(from, socket, head) {
    if (!this.letsTunnelsThrough) {
      this.tunnelsRefused++;
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    this.addresses.push(from.url);
    const there = connect(this.target, '127.0.0.1');
    const lines = [`${from.method} ${from.url} HTTP/1.1`];
    for (let i = 0; i < from.rawHeaders.length; i += 2)
      lines.push(`${from.rawHeaders[i]}: ${from.rawHeaders[i + 1]}`);
    there.write(`${lines.join('\r\n')}\r\n\r\n`);
    there.write(head);
    socket.pipe(there).pipe(socket);
    for (const end of [socket, there]) {
      this.#tunnels.add(end);
      end.on('error', () => {});
      end.on('close', () => {
        this.#tunnels.delete(end);
        socket.destroy();
        there.destroy();
      });
    }
  }
}
