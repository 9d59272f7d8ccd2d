// SPDX-License-Identifier: Apache-2.0
//
// jetstream_bridge - a test bridge: the firehose of a real PDS, spoken as Jetstream v1.
//
// Nobody here wrote what comes in: com.atproto.sync.subscribeRepos of the PDS, decoded by the
// packages of the same authors. What goes out follows the public description of `/subscribe`:
// wantedCollections, wantedDids, cursor (microseconds, inclusive, silently clamped to what is still
// kept), requireHello, options_update; no compression. One event for each operation of a commit,
// in order, with a time that never repeats.
import { createServer } from 'node:http'
import { lexStringify } from '@atproto/lex-json'
import { parseCommitUnauthenticated } from '@atproto/sync'
import { Subscription } from '@atproto/xrpc-server'
import { WebSocketServer } from 'ws'

const SUBSCRIBE = 'com.atproto.sync.subscribeRepos'

// As the Go encoder of a real Jetstream writes strings.
const ESCAPES = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026',
  '\u2028': '\\u2028', '\u2029': '\\u2029' }
const escapeHtml = (json) => json.replace(/[<>&\u2028\u2029]/g, (letter) => ESCAPES[letter])

// What a client asked to see; an empty list asks for everything.
class Wishes {
  constructor(collections, dids) {
    this.collections = new Set(collections)
    this.dids = new Set(dids)
  }

  wants(event) {
    if (this.dids.size > 0 && !this.dids.has(event.did)) return false
    if (event.collection === undefined || this.collections.size === 0) return true
    if (this.collections.has(event.collection)) return true
    return [...this.collections].some((pattern) =>
      pattern.endsWith('.*') && event.collection.startsWith(pattern.slice(0, -1)))
  }
}

export class JetstreamBridge {
  constructor(pdsUrl) {
    this.kept = [] // {us, did, collection, text}, oldest first: what can be replayed
    this.clients = new Set()
    this.lastUs = 0
    this.lastSeq = 0
    this.connections = 0
    this.stopping = new AbortController()
    this.subscription = new Subscription({
      service: pdsUrl.replace('http', 'ws'),
      method: SUBSCRIBE,
      signal: this.stopping.signal,
      getParams: () => ({ cursor: this.lastSeq }),
      validate: (value) => value,
    })
  }

  async listen() {
    this.http = createServer((_, answer) => answer.writeHead(404).end())
    this.sockets = new WebSocketServer({ server: this.http, path: '/subscribe' })
    this.sockets.on('connection', (socket, request) => this.#welcome(socket, request))
    await new Promise((resolve) => this.http.listen(0, '127.0.0.1', resolve))
    this.running = this.#read()
    return this.http.address().port
  }

  // What happened so far can no longer be asked for, as after a server's retention.
  forget() {
    this.kept = []
  }

  async close() {
    this.stopping.abort()
    await this.running
    for (const client of this.clients) client.socket.terminate()
    await new Promise((resolve) => this.sockets.close(resolve))
    await new Promise((resolve) => this.http.close(resolve))
  }

  async #read() {
    try {
      for await (const event of this.subscription) {
        for (const [collection, fields] of await translate(event)) {
          this.#tell(event.repo ?? event.did, collection, fields)
        }
        if (event.seq !== undefined) this.lastSeq = event.seq
      }
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error
    }
  }

  #tell(did, collection, fields) {
    const us = Math.max(this.lastUs + 1, Date.now() * 1000)
    this.lastUs = us
    const text = escapeHtml(lexStringify({ did, time_us: us, ...fields }))
    const event = { us, did, collection, text }
    this.kept.push(event)
    for (const client of this.clients) client.offer(event)
  }

  #welcome(socket, request) {
    const asked = new URL(request.url, 'http://bridge').searchParams
    const client = new Client(socket,
      new Wishes(asked.getAll('wantedCollections'), asked.getAll('wantedDids')))
    this.connections += 1
    const begin = () => {
      const cursor = asked.get('cursor')
      if (cursor) this.kept.filter((event) => event.us >= Number(cursor)).forEach((event) =>
        client.offer(event))
      this.clients.add(client)
    }
    socket.on('close', () => this.clients.delete(client))
    socket.on('message', (data) => {
      const { type, payload } = JSON.parse(data)
      if (type !== 'options_update') return
      client.wishes = new Wishes(payload.wantedCollections ?? [], payload.wantedDids ?? [])
      if (!this.clients.has(client)) begin()
    })
    if (asked.get('requireHello') !== 'true') begin()
  }
}

class Client {
  constructor(socket, wishes) {
    this.socket = socket
    this.wishes = wishes
  }

  offer(event) {
    if (this.wishes.wants(event)) this.socket.send(event.text)
  }
}

// The events of one frame of the firehose: pairs of collection and fields.
async function translate(event) {
  switch (event.$type) {
    case `${SUBSCRIBE}#commit`:
      return (await parseCommitUnauthenticated(event, null)).map((op) => [op.collection, {
        kind: 'commit',
        commit: {
          rev: op.rev,
          operation: op.event,
          collection: op.collection,
          rkey: op.rkey,
          ...(op.event === 'delete' ? {} : { record: op.record, cid: op.cid.toString() }),
        },
      }])
    case `${SUBSCRIBE}#identity`: {
      const { did, handle, seq, time } = event
      return [[undefined, { kind: 'identity',
        identity: { did, ...(handle ? { handle } : {}), seq, time } }]]
    }
    case `${SUBSCRIBE}#account`: {
      const { active, did, seq, status, time } = event
      return [[undefined, { kind: 'account',
        account: { active, did, seq, ...(status ? { status } : {}), time } }]]
    }
    default: // #sync and #info are not part of the v1 wire
      return []
  }
}
