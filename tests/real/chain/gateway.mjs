// SPDX-License-Identifier: Apache-2.0
//
// An IPFS node without a network: Helia with its own importer and block store, and in front of it
// what a gateway does for `GET /ipfs/CID?format=raw`. Commands come as lines of JSON on standard
// input: {"add": base64, "chunk": bytes, "children": number, "raw": bool, "version": 0 or 1} is
// answered with {"cid"}; the first line of the output names the port. It ends with its input.
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { unixfs } from '@helia/unixfs'
import { createHeliaLight } from 'helia'
import { fixedSize } from 'ipfs-unixfs-importer/chunker'
import { balanced } from 'ipfs-unixfs-importer/layout'
import { CID } from 'multiformats/cid'

const helia = await createHeliaLight()
const files = unixfs(helia)

function say (answer) {
  process.stdout.write(JSON.stringify(answer) + '\n')
}

async function block (cid) {
  const pieces = []
  for await (const piece of helia.blockstore.get(cid, { offline: true })) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function answer (request, response) {
  const url = new URL(request.url, 'http://gateway')
  const [, kind, name] = url.pathname.split('/')
  let status = 404
  let body = Buffer.from('not found\n')
  if (kind === 'ipfs' && url.searchParams.get('format') === 'raw') {
    try {
      body = await block(CID.parse(name))
      status = 200
    } catch (error) {
      status = error.name === 'NotFoundError' ? 404 : 400
      body = Buffer.from(`${error.name}: ${error.message}\n`)
    }
  }
  response.writeHead(status, { 'content-type': 'application/vnd.ipld.raw', 'content-length': body.length })
  response.end(body)
}

async function add (command) {
  const cid = await files.addBytes(Buffer.from(command.add, 'base64'), {
    chunker: fixedSize({ chunkSize: command.chunk }),
    layout: balanced({ maxChildrenPerNode: command.children }),
    rawLeaves: command.raw,
    cidVersion: command.version,
    reduceSingleLeafToSelf: true
  })
  say({ cid: (cid.cid ?? cid).toString() })
}

const server = createServer((request, response) => { answer(request, response) })
server.listen(0, '127.0.0.1', () => say({ port: server.address().port }))
const commands = createInterface({ input: process.stdin })
for await (const line of commands) await add(JSON.parse(line))
server.close()
server.closeAllConnections()
await helia.stop()
