// SPDX-License-Identifier: Apache-2.0
//
// simulator.mjs - a simulated network of one's own.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Simulator {
  #process;

  static async start(...options) {
    const simulator = new Simulator();
    simulator.#process = spawn(process.env.TIDEMARK_SIM, ['--port', '0', ...options], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const lines = createInterface({ input: simulator.#process.stdout });
    const [first] = await new Promise((resolve, reject) => {
      lines.once('line', (line) => resolve([line]));
      lines.once('close', () => reject(new Error('the simulator said nothing')));
    });
    [simulator.address] = /127\.0\.0\.1:\d+/.exec(first);
    // One account a line; the first person of the world is the one who follows others.
    const accounts = await (await fetch(`http://${simulator.address}/_sim/accounts`)).text();
    simulator.actor = JSON.parse(accounts.split('\n')[0]).handle;
    return simulator;
  }

  /** What a daemon is told to follow it. */
  get settings() {
    return [
      `bluesky.actors=${this.actor}`,
      `bluesky.appview=http://${this.address}`,
      'bluesky.mode=hybrid',
      `jetstream.endpoint=ws://${this.address}`,
      'jetstream.fallback_endpoint=',
    ];
  }

  async stop() {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
  }
}
