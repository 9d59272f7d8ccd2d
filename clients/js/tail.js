// SPDX-License-Identifier: Apache-2.0
//
// tail.js - what changes in a result, as it happens.
//
// Every change has the number of its commit, and the place in the stream is the last such number
// that was received: after a broken connection, a restart or a forgotten handle the daemon is asked
// for what came after it. Nothing is lost and nothing comes twice; where the daemon no longer knows,
// it says GAP, and so does this.
//
// Changes are pushed over a websocket where there is one. Where there is none, or where something on
// the way lets none through, the daemon is asked and answers when there is something to tell.
//
// A place is {wire, spec, name, since}: `name` is the handle at the daemon, `since` moves on. Without
// a name, or when the daemon has forgotten it, a handle is opened, and closed at the end.

import { pause, pauseBefore } from './wire.js';
import { Push } from './push.js';

const WAIT_MS = 25000; // what stands between us may cut a silent connection after 30 s
const MISTRUST_MAX = 2;
const PASSING = new Set(['BUSY', 'CONFLICT', 'DEADLINE', 'SHUTTING_DOWN', 'UNAVAILABLE']);

async function openAnew(place, signal) {
  const { around, ...spec } = place.spec;
  const opened = await place.wire.ask('query-open', { ...spec, count: 'none' }, { signal });
  place.name = opened.queryHandle;
  place.owned = opened.queryHandle;
}

/** What was opened here is of no use to anybody else; never throws. */
function leave(place) {
  const { wire, owned: queryHandle } = place;
  if (queryHandle !== undefined) wire.once('query-close', { queryHandle }).catch(() => {});
}

async function ask(place, wait, signal) {
  const params = { queryHandle: place.name, since: place.since, wait };
  const answer = await place.wire.once('query-tail', params, { signal, waitMs: wait });
  return { changes: answer.changes, seq: answer.seq };
}

async function* pushedBatches(place, signal) {
  place.wire.push ??= new Push(place.wire);
  yield* place.wire.push.changes(place.name, place.since, signal);
}

async function* askedBatches(place, wait, signal) {
  yield await ask(place, wait, signal);
}

/** Which way to try, from how the last ones ended. A websocket that does not open while the daemon
 *  answers otherwise is not let through by somebody, and is given up. */
class Ways {
  #mistrust = 0;
  #broke = false;

  constructor(push) {
    if (!push) this.#mistrust = MISTRUST_MAX;
  }

  batches(place, signal) {
    if (this.#mistrust >= MISTRUST_MAX) return askedBatches(place, WAIT_MS, signal);
    return this.#broke ? askedBatches(place, 0, signal) : pushedBatches(place, signal);
  }

  /** A batch came: one that was pushed shows that a websocket works. */
  delivered() {
    if (!this.#broke && this.#mistrust < MISTRUST_MAX) this.#mistrust = 0;
  }

  answered() {
    if (this.#broke) this.#mistrust++;
    this.#broke = false;
  }

  failed() {
    this.#broke = !this.#broke;
  }
}

/** Tries one way after the other for as long as it makes sense. */
async function* insist(place, ways, signal) {
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (place.name === undefined) await openAnew(place, signal);
      for await (const batch of ways.batches(place, signal)) {
        if (batch.seq > place.since) failures = 0; // one that is cut at once comes ever later
        ways.delivered();
        place.since = batch.seq;
        if (batch.changes.length > 0) yield batch;
      }
      ways.answered();
    } catch (error) {
      if (signal.aborted) return;
      if (error.code === 'HANDLE_NOT_FOUND') place.name = undefined;
      else if (error.retryable || PASSING.has(error.code)) ways.failed();
      else throw error;
      await pause(Math.max(error.retryAfterMs ?? 0, pauseBefore(failures++)), signal);
    }
  }
}

/** Batches {changes, seq} of everything after place.since; ends with the signal. */
export async function* batchesOf(place, { signal, push }) {
  try {
    yield* insist(place, new Ways(push && Push.worksFor(place.wire)), signal);
  } finally {
    leave(place);
  }
}
