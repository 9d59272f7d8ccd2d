// SPDX-License-Identifier: Apache-2.0
//
// chat.mjs - a daemon with the collections of examples/chat, and seed 004's room of 392 messages.

import { readFileSync } from 'node:fs';
import { connect } from '../../clients/js/tidemark.js';
import { Daemon } from './daemon.mjs';

export const MESSAGES = 392;
export const ROOM = '5e71a0c8-0303-4eb8-a478-3a121248';

const config = readFileSync(new URL('../../examples/chat/collections.yaml', import.meta.url), 'utf8');

export function message(number, more = {}) {
  return {
    id: `m${String(number).padStart(4, '0')}`,
    roomId: ROOM,
    senderId: `u${number % 5}`,
    senderName: ['Ada', 'Ben', 'Cy', 'Dee', 'Eve'][number % 5],
    text: `message ${number} <i>&amp; all</i>`,
    status: 'sent',
    // Seven of them share an instant.
    timestamp: new Date(Date.UTC(2026, 0, 1) + Math.floor(number / 7) * 60000).toISOString(),
    ...more,
  };
}

/** The room's messages as they are paged: newest first, the later of equals first. */
export const newestFirst = Array.from({ length: MESSAGES }, (_, i) => message(MESSAGES - i).id);

export async function startChat() {
  const daemon = await Daemon.start({ config });
  const db = connect(daemon.url);
  await daemon.ready(() => db.list('chat_messages', { limit: 1 }));
  for (let from = 1; from <= MESSAGES; from += 100) {
    const many = Math.min(100, MESSAGES - from + 1);
    await db.create('chat_messages', Array.from({ length: many }, (_, i) => message(from + i)));
  }
  await db.create('chat_messages', [
    message(9001, { roomId: 'elsewhere' }),
    message(9002, { status: 'draft' }),
  ]);
  return daemon;
}
