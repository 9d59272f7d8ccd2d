// SPDX-License-Identifier: Apache-2.0
//
// tail.js - what changes in a result, as it happens.
//
// Every change has the number of its commit, and the place in the stream is the last such number
// that was received: after a broken connection, a restart or a forgotten handle the daemon is asked
// for what came after it. Nothing is lost and nothing comes twice; where the daemon no longer knows,
// it says GAP, and so does this.
//
// A place is {wire, spec, name, since}: `name` is the handle at the daemon, `since` moves on.

import { pause, pauseBefore } from './wire.js';

const WAIT_MS = 25000; // what stands between us may cut a silent connection after 30 s

async function openAnew(place, signal) {
  const { around, ...spec } = place.spec;
  const opened = await place.wire.ask('query-open', { ...spec, count: 'none' }, { signal });
  place.name = opened.queryHandle;
}

async function waitForChanges(place, signal) {
  if (place.name === undefined) await openAnew(place, signal);
  const { name: queryHandle, since, wire } = place;
  const params = { queryHandle, since, wait: WAIT_MS };
  const answer = await wire.once('query-tail', params, { signal, waitMs: WAIT_MS });
  place.since = answer.seq;
  return answer.changes;
}

async function* polledChanges(place, signal) {
  for (let failures = 0; !signal.aborted; ) {
    let changes = [];
    try {
      changes = await waitForChanges(place, signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (error.code === 'HANDLE_NOT_FOUND') place.name = undefined;
      else if (!error.retryable && error.code !== 'CONFLICT') throw error;
      await pause(Math.max(error.retryAfterMs, pauseBefore(failures++)), signal);
    }
    yield* changes;
  }
}

/** Every change after place.since; ends with the signal. */
export function changesOf(place, { signal }) {
  return polledChanges(place, signal);
}
