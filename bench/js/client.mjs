// SPDX-License-Identifier: Apache-2.0
// A Jetstream client of somebody else, counting posts of people in a list:
//   client.mjs skyware|atcute PORT EVENTS FILE
// Prints the CPU time it took from the first event to the last, in microseconds.
import { readFileSync } from "node:fs";
import { WebSocket } from "ws";

const [name, port, wanted, file] = process.argv.slice(2);
const root = `ws://127.0.0.1:${port}`;
const follows = new Set(readFileSync(file, "utf8").split("\n"));
let seen = 0, posts = 0, begin;

function take(event) {
  if (seen === 0) begin = process.cpuUsage();
  seen++;
  if (follows.has(event.did) && event.kind === "commit" &&
      event.commit.collection === "app.bsky.feed.post") posts++;
  if (seen < Number(wanted)) return;
  const { user, system } = process.cpuUsage(begin);
  console.log(JSON.stringify({ cpu_us: user + system, events: seen, posts }));
  process.exit(0);
}

if (name === "skyware") {
  const { Jetstream } = await import("@skyware/jetstream");
  const jetstream = new Jetstream({ ws: WebSocket, endpoint: `${root}/subscribe` });
  for (const kind of ["commit", "account", "identity"]) jetstream.on(kind, take);
  jetstream.start();
} else {
  globalThis.WebSocket = WebSocket;
  const { JetstreamSubscription } = await import("@atcute/jetstream");
  for await (const event of new JetstreamSubscription({ url: root })) take(event);
}
