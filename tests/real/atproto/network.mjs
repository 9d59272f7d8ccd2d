// SPDX-License-Identifier: Apache-2.0
//
// network - real atproto servers for a test: PLC, PDS and AppView of @atproto/dev-env, and the
// Jetstream bridge. It needs DB_POSTGRES_URL and REDIS_HOST, and keeps its files under TMPDIR.
//
// It speaks over stdin and stdout, one JSON object a line: first its addresses, then one answer to
// each question. Questions are {"do": NAME}: `settle` answers once the AppView and the bridge know
// all that the PDS has done; `forget` makes the bridge unable to replay what lies behind. The end of
// stdin is the end of the network. What goes wrong stands on stderr.
import { Server } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

// The packages listen on every interface; a test has no business there.
const listen = Server.prototype.listen
Server.prototype.listen = function (first, ...rest) {
  if (typeof first === 'number') {
    const heard = rest.filter((value) => typeof value === 'function')
    return listen.call(this, { port: first, host: '127.0.0.1' }, ...heard)
  }
  if (first !== null && typeof first === 'object' && first.port !== undefined) {
    return listen.call(this, { ...first, host: '127.0.0.1' }, ...rest)
  }
  return listen.call(this, first, ...rest)
}

const { TestNetwork } = await import('@atproto/dev-env')
const { JetstreamBridge } = await import('./jetstream_bridge.mjs')

const say = (value) => process.stdout.write(JSON.stringify(value) + '\n')
const network = await TestNetwork.create({ dbPostgresSchema: 'real' })
const bridge = new JetstreamBridge(network.pds.url)
const bridgePort = await bridge.listen()

const questions = {
  async settle() {
    const seq = await network.pds.ctx.sequencer.curr()
    await network.processAll()
    while (bridge.lastSeq < seq) await pause(5)
    return { seq, time_us: bridge.lastUs, connections: bridge.connections }
  },
  async forget() {
    bridge.forget()
    return {}
  },
}

say({ pds: network.pds.url, appview: network.bsky.url, bridge: `ws://127.0.0.1:${bridgePort}` })
for await (const line of createInterface({ input: process.stdin })) {
  const { do: name } = JSON.parse(line)
  try {
    say(await questions[name]())
  } catch (error) {
    say({ error: String(error?.stack ?? error) })
  }
}
await bridge.close()
await network.close()
process.exit(0)
