// SPDX-License-Identifier: Apache-2.0
//
// wire.js - one question to the daemon, and asking it again until it is answered.
//
// A question is put so that asking twice does no harm: pages are named, writes carry a key. So
// whatever is lost on the way is simply asked again, with growing pauses.

const FIRST_PAUSE_MS = 100;
const PAUSE_MS_MAX = 5000;
const ATTEMPTS_MAX = 12;
const ANSWER_MS_MAX = 30000;
const ASK_AGAIN = new Set([502, 503, 504]);

/** What went wrong. `code` is the daemon's word for it, or one of this client's own:
 *  UNREACHABLE (no answer came), CLOSED (the handle was), RESUME_LOST (see Handle). */
export class TidemarkError extends Error {
  constructor(code, message, { status = 0, retryable = false, retryAfterMs = 0, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TidemarkError';
    this.code = code;
    this.status = status;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A signal that follows all of the given ones (some may be undefined), and has a life of its own:
 *  abort() ends it, release() lets go of the others. */
export function follow(...signals) {
  const own = new AbortController();
  const others = signals.filter(Boolean);
  const stop = (event) => own.abort(event.target.reason);
  for (const other of others) {
    if (other.aborted) own.abort(other.reason);
    else other.addEventListener('abort', stop, { once: true });
  }
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    release: () => others.forEach((other) => other.removeEventListener('abort', stop)),
  };
}

/** Resolves after `ms`, or rejects with the signal's reason. */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(finish, ms);
    function finish() {
      signal?.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal.reason);
    }
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** The pause before the try with this number: doubling, and never the same for everybody. */
export function pauseBefore(attempt) {
  const ms = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 16));
  return ms / 2 + Math.random() * (ms / 2);
}

/** What is refused without being JSON was refused by somebody on the way, who is answer enough. */
function read(response, words) {
  try {
    return JSON.parse(words);
  } catch (error) {
    if (response.ok) throw error;
    return { success: false };
  }
}

function errorOf(response, body) {
  const seconds = Number(response.headers.get('retry-after'));
  const told = response.headers.has('retry-after') && seconds >= 0;
  return new TidemarkError(body.code ?? 'UNREACHABLE', body.error ?? `HTTP ${response.status}`, {
    status: response.status,
    retryable: ASK_AGAIN.has(response.status) || (response.status === 429 && told),
    retryAfterMs: told ? seconds * 1000 : 0,
  });
}

export class Wire {
  #headers;
  #fetch;
  #attempts;

  constructor(url, { token, session, fetch, answerMs, attempts } = {}) {
    this.base = new URL(url);
    this.token = token;
    this.session = session;
    this.#fetch = fetch ?? globalThis.fetch.bind(globalThis);
    this.answerMs = answerMs ?? ANSWER_MS_MAX;
    this.#attempts = attempts ?? ATTEMPTS_MAX;
    this.#headers = { 'content-type': 'application/json', 'tidemark-session': session };
    if (token) this.#headers.authorization = `Bearer ${token}`;
  }

  /** One try at one command. `waitMs`: how much longer than usual the answer may take. */
  once(command, params, options = {}) {
    return this.#exchange(`api/data/${command}`, options, {
      method: 'POST',
      headers: this.#headers,
      body: JSON.stringify(params),
      keepalive: options.keepalive ?? false,
    });
  }

  /** Asks until there is an answer; what the daemon refuses is thrown at once. `doneIf` is the code
   *  that the second try gets when the first one was done, and only its reply was lost; `mayBeBusy`
   *  says that a try before this question was given up. */
  ask(command, params, options = {}) {
    return this.#insist(() => this.once(command, params, options), options);
  }

  /** The same for a page of the API that is only read. */
  get(path, options = {}) {
    const { 'content-type': unused, ...headers } = this.#headers;
    return this.#insist(() => this.#exchange(path, options, { headers }), options);
  }

  async #insist(tryOnce, { signal, doneIf, mayBeBusy = false }) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await tryOnce();
      } catch (error) {
        if (attempt > 0 && doneIf !== undefined && error.code === doneIf) return { success: true };
        // A try that was given up may still be at work there: the next one then finds the handle
        // busy.
        const busy = error.code === 'CONFLICT' && (attempt > 0 || mayBeBusy);
        const again = error.retryable || busy;
        if (signal?.aborted || !again || attempt + 1 >= this.#attempts) throw error;
        await pause(Math.max(error.retryAfterMs, pauseBefore(attempt)), signal);
      }
    }
  }

  async #exchange(path, { signal, waitMs = 0 }, init) {
    signal?.throwIfAborted();
    const patience = follow(signal);
    const timer = setTimeout(() => patience.abort(), this.answerMs + waitMs);
    try {
      const response = await this.#fetch(new URL(path, this.base), {
        ...init,
        signal: patience.signal,
        cache: 'no-store',
      });
      const body = read(response, await response.text());
      if (response.ok && body.success !== false) return body;
      throw errorOf(response, body);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TidemarkError) throw error;
      throw new TidemarkError('UNREACHABLE', `${this.base.host} did not answer`, {
        retryable: true,
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      patience.release();
    }
  }
}
